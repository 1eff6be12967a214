/* Reads a stream of server-sent events, piece by piece as it comes over the wire. */

export interface Frame {
  /** The event's type; `message` where the stream names none. */
  event: string;
  data: string;
}

/**
 * Returns a function that takes the next piece of text and gives back the frames that it completed.
 *
 * Comments, ids and fields of no use here are skipped: an event carries its number in its data.
 */
export function frameReader(): (piece: string) => Frame[] {
  let rest = "";
  let event = "";
  let data: string[] = [];
  return (piece) => {
    const frames: Frame[] = [];
    rest += piece;
    // A carriage return at the very end may be half of a line break.
    const end = rest.endsWith("\r") ? rest.length - 1 : rest.length;
    const lines = rest.slice(0, end).split(/\r\n|\n|\r/);
    rest = (lines.pop() ?? "") + rest.slice(end);
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) frames.push({ event: event === "" ? "message" : event, data: data.join("\n") });
        event = "";
        data = [];
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "event") event = value;
      else if (field === "data") data.push(value);
    }
    return frames;
  };
}

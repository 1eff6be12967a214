/*
 * A session's transcript as it grows. Pure: values in, values out.
 *
 * Words are shown as they are said; what the ledger has written down takes their place.
 */
import type { Delta, SpokenItem, TranscriptItem } from "../api/types.ts";

export interface Transcript {
  /** What was read, in order. */
  items: readonly TranscriptItem[];
  /** What is being said and was not read yet, by the engine's name for it. */
  live: Readonly<Record<string, { thought: boolean; text: string }>>;
}

export const SILENT: Transcript = { items: [], live: {} };

/** Whether a piece is words. */
export const isSpoken = (item: TranscriptItem): item is SpokenItem => "text" in item;

/** The transcript with more words, or nothing if words between those known and these were missed. */
export function withDelta(transcript: Transcript, delta: Delta): Transcript | undefined {
  const at = transcript.items.findLastIndex((item) => item.native_id === delta.item && isSpoken(item));
  const known = transcript.items[at];
  if (known !== undefined && isSpoken(known)) {
    const text = grown(known.text, delta);
    return text === undefined ? undefined : { ...transcript, items: transcript.items.with(at, { ...known, text }) };
  }
  const text = grown(transcript.live[delta.item]?.text ?? "", delta);
  return text === undefined
    ? undefined
    : { ...transcript, live: { ...transcript.live, [delta.item]: { thought: delta.thought, text } } };
}

/** A delta may come after a reading that had some or all of it. */
function grown(heard: string, delta: Delta): string | undefined {
  const known = [...heard].length;
  if (known < delta.offset) return undefined;
  return heard + [...delta.text].slice(known - delta.offset).join("");
}

/**
 * The transcript with items as they were read because the one at `written` was written down.
 *
 * Behind it may come one that is still being said. Of that one more may have been heard than was read, and
 * what was heard is not unsaid.
 */
export function withItems(transcript: Transcript, read: readonly TranscriptItem[], written: number): Transcript {
  const items = new Map(transcript.items.map((item) => [item.seq, item]));
  const live = { ...transcript.live };
  const places = new Map(transcript.items.map((item) => [item.native_id, item.seq]));
  for (const item of read) {
    // What was still being said when it was read may have got another place since.
    const before = places.get(item.native_id) ?? item.seq;
    const known = items.get(before);
    if (before !== item.seq && known?.native_id === item.native_id) items.delete(before);
    const same = known !== undefined && known.native_id === item.native_id && isSpoken(known);
    const heard = same ? known.text : live[item.native_id]?.text;
    const ahead = item.seq > written && isSpoken(item) && heard !== undefined && heard.startsWith(item.text);
    items.set(item.seq, ahead ? { ...item, text: heard } : item);
    delete live[item.native_id];
  }
  return { items: [...items.values()].toSorted((a, b) => a.seq - b.seq), live };
}

/** From where a piece has to be read: its place, or the end. */
export function placeOf(transcript: Transcript, piece: string): number {
  const known = transcript.items.findLast((item) => item.native_id === piece);
  return known?.seq ?? (transcript.items.at(-1)?.seq ?? 0) + 1;
}

/* What every reverse proxy of the tests does with a request: it passes it on, and the answer back. */
import { request, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";

export interface Onward {
  port: number;
  path: string;
  headers: IncomingHttpHeaders;
  /** What is put at the end of the answer. */
  more?: string;
}

export function passOn(incoming: IncomingMessage, outgoing: ServerResponse, { port, path, headers, more = "" }: Onward): void {
  const onward = request({ host: "127.0.0.1", port, method: incoming.method, headers, path }, (answer) => {
    // What is about the bytes is no more true of more of them.
    const { "content-length": _, etag: __, ...others } = answer.headers;
    outgoing.writeHead(answer.statusCode ?? 502, more === "" ? answer.headers : others);
    answer.on("end", () => outgoing.end(more));
    answer.pipe(outgoing, { end: false });
  });
  onward.on("error", () => outgoing.destroy());
  outgoing.on("close", () => onward.destroy());
  incoming.pipe(onward);
}

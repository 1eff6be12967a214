/* A reverse proxy that serves another server under `/some/prefix`, as people do who have one host for several things. */
import { createServer, request, type Server } from "node:http";
import { freePort } from "./programs.ts";

const PREFIX = "/some/prefix";

export class PrefixProxy {
  readonly host: string;
  readonly #server: Server;

  private constructor(host: string, server: Server) {
    this.host = host;
    this.#server = server;
  }

  /** Starts one for the server on `port`. */
  static async start(port: number): Promise<PrefixProxy> {
    const own = await freePort();
    const server = createServer((incoming, outgoing) => {
      const path = incoming.url ?? "";
      if (!path.startsWith(`${PREFIX}/`)) {
        outgoing.writeHead(404).end();
        return;
      }
      const { method, headers } = incoming;
      const onward = request({ host: "127.0.0.1", port, method, headers, path: path.slice(PREFIX.length) }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on("error", () => outgoing.destroy());
      outgoing.on("close", () => onward.destroy());
      incoming.pipe(onward);
    });
    await new Promise<void>((done) => server.listen(own, "127.0.0.1", done));
    return new PrefixProxy(`127.0.0.1:${own}`, server);
  }

  get url(): string {
    return `http://${this.host}${PREFIX}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((done) => this.#server.close(() => done()));
  }
}

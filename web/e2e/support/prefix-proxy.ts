/* A reverse proxy that serves another server under `/some/prefix`, as people do who have one host for several things. */
import { createServer, type Server } from "node:http";
import { passOn } from "./pass-on.ts";
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
      passOn(incoming, outgoing, { port, path: path.slice(PREFIX.length), headers: incoming.headers });
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

/*
 * A reverse proxy with TLS that serves another server under a path prefix, which it leaves on: as people do who have one
 * host for several things. Its certificate is made for it, and by nobody that anybody knows.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { passOn } from "./pass-on.ts";
import { freePort } from "./programs.ts";

export const TLS_PREFIX = "/agents/countersign";

export class TlsProxy {
  readonly host: string;
  /** What is put at the end of the app's worker, as if the app were a newer one. */
  newer = "";
  #server: Server | undefined;

  private constructor(host: string) {
    this.host = host;
  }

  /** Starts one on its own `port` for the server on another. */
  static async start(own: number, port: number): Promise<TlsProxy> {
    const proxy = new TlsProxy(`localhost:${own}`);
    const server = createServer(await certificate(), (incoming, outgoing) => {
      const path = incoming.url ?? "";
      if (!path.startsWith(TLS_PREFIX)) {
        outgoing.writeHead(404).end();
        return;
      }
      const forwarded = { ...incoming.headers, "x-forwarded-proto": "https" };
      if (proxy.newer === "" || !path.endsWith("/sw.js")) passOn(incoming, outgoing, { port, path, headers: forwarded });
      else passOn(incoming, outgoing, { port, path, headers: { ...forwarded, "accept-encoding": "identity", "if-none-match": "" }, more: proxy.newer });
    });
    await new Promise<void>((done) => server.listen(own, "127.0.0.1", done));
    proxy.#server = server;
    return proxy;
  }

  static freePort = freePort;

  get url(): string {
    return `https://${this.host}${TLS_PREFIX}`;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise<void>((done) => this.#server?.close(() => done()));
  }
}

async function certificate(): Promise<{ key: Buffer; cert: Buffer }> {
  const folder = mkdtempSync(join(tmpdir(), "countersign-tls-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  try {
    const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    const name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    await promisify(execFile)("openssl", ["req", ...kind, ...name, "-keyout", key, "-out", cert]);
    return { key: readFileSync(key), cert: readFileSync(cert) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/*
 * A push service, and the half of a browser that reads what it is sent: everything that stands between the server and the
 * page's worker. It decrypts as RFC 8291 says, with another library than the server's.
 */
import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { freePort } from "./programs.ts";

export interface Pushed {
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export class PushService {
  readonly pushed: Pushed[] = [];
  /** What it answers. */
  status = 201;
  readonly #port: number;
  readonly #server: Server;
  readonly #keys = createECDH("prime256v1");
  readonly #secret = randomBytes(16);

  private constructor(port: number) {
    this.#port = port;
    this.#keys.generateKeys();
    this.#server = createServer((incoming, outgoing) => {
      const pieces: Buffer[] = [];
      incoming.on("data", (piece: Buffer) => pieces.push(piece));
      incoming.on("end", () => {
        this.pushed.push({ headers: incoming.headers, body: Buffer.concat(pieces) });
        outgoing.writeHead(this.status).end();
      });
    });
  }

  static async start(): Promise<PushService> {
    const service = new PushService(await freePort());
    await new Promise<void>((done) => service.#server.listen(service.#port, "127.0.0.1", done));
    return service;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** What the browser's `PushSubscription` is as JSON. */
  subscription(): { endpoint: string; keys: { p256dh: string; auth: string } } {
    const keys = { p256dh: this.#keys.getPublicKey("base64url"), auth: this.#secret.toString("base64url") };
    return { endpoint: `${this.origin}/send/this-browser`, keys };
  }

  /** What was pushed, as the browser reads it. */
  read({ body }: Pushed): unknown {
    const [salt, sender, record] = [body.subarray(0, 16), body.subarray(21, 86), body.subarray(86)];
    const shared = this.#keys.computeSecret(sender);
    const info = Buffer.concat([Buffer.from("WebPush: info\0"), this.#keys.getPublicKey(), sender]);
    const derive = (from: Uint8Array, by: Uint8Array, about: Uint8Array, length: number) => Buffer.from(hkdfSync("sha256", from, by, about, length));
    const input = derive(shared, this.#secret, info, 32);
    const key = derive(input, salt, Buffer.from("Content-Encoding: aes128gcm\0"), 16);
    const nonce = derive(input, salt, Buffer.from("Content-Encoding: nonce\0"), 12);
    const cipher = createDecipheriv("aes-128-gcm", key, nonce);
    cipher.setAuthTag(record.subarray(-16));
    const filled = Buffer.concat([cipher.update(record.subarray(0, -16)), cipher.final()]);
    return JSON.parse(filled.subarray(0, filled.lastIndexOf(2)).toString()) as unknown;
  }

  /** Whether a push is signed with `key`, for this service. */
  isSignedWith({ headers }: Pushed, key: string): boolean {
    const found = /^vapid t=(\S+)\.(\S+), k=(\S+)$/.exec(headers.authorization ?? "");
    if (found === null || found[3] !== key) return false;
    const [signed, signature] = [found[1] ?? "", found[2] ?? ""];
    const point = Buffer.from(key, "base64url");
    const [x, y] = [point.subarray(1, 33).toString("base64url"), point.subarray(33).toString("base64url")];
    const publicKey = createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" });
    const claims = JSON.parse(Buffer.from(signed.split(".")[1] ?? "", "base64url").toString()) as { aud: string };
    const bytes = Buffer.from(signature, "base64url");
    return claims.aud === this.origin && verify("sha256", Buffer.from(signed), { key: publicKey, dsaEncoding: "ieee-p1363" }, bytes);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((done) => this.#server.close(() => done()));
  }
}

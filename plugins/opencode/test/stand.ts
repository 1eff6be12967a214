/** A server of the tests: it answers as it is told, and remembers what it was asked. */
import { createServer } from "node:http";
import type { IncomingHttpHeaders, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface Call {
  readonly body: unknown;
  readonly headers: IncomingHttpHeaders;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const DEADLINE_MS = 20_000;

export class Stand {
  readonly #server: Server;
  readonly #answers = new Map<string, Answer | "held">();
  readonly #held = new Set<ServerResponse>();
  #calls: [string, Call][] = [];

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const route = `${request.method} ${(request.url ?? "").split("?")[0]}`;
        const body: unknown = text === "" ? undefined : JSON.parse(text);
        this.#calls.push([route, { body, headers: request.headers }]);
        const answer = this.#answers.get(route) ?? { status: 200, body: {} };
        if (answer === "held") {
          this.#held.add(response);
          return;
        }
        response.writeHead(answer.status, { "content-type": "application/json" });
        response.end(JSON.stringify(answer.body));
      });
    });
  }

  static async start(): Promise<Stand> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Stand(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  on(route: string, answer: Answer): void {
    this.#answers.set(route, answer);
  }

  /** Leaves calls unanswered. */
  hold(route: string): void {
    this.#answers.set(route, "held");
  }

  calls(route: string): Call[] {
    return this.#calls.filter(([called]) => called === route).map(([, call]) => call);
  }

  /** Waits for the call number `count`. */
  async wait(route: string, count = 1): Promise<Call> {
    const end = Date.now() + DEADLINE_MS;
    for (;;) {
      const call = this.calls(route)[count - 1];
      if (call !== undefined) return call;
      if (Date.now() > end) throw new Error(`no call number ${count} of ${route}`);
      await sleep(10);
    }
  }

  /** Forgets what was asked. */
  forget(): void {
    this.#calls = [];
  }

  reset(): void {
    this.forget();
    this.#answers.clear();
    for (const response of this.#held) response.destroy();
    this.#held.clear();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

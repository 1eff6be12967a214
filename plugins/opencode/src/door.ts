/**
 * Countersign's door: asks are handed in, answers fetched, and what became of them reported. A life of this
 * opencode is announced with the first ask and again whenever the server has forgotten it.
 */
import type { Opencode, Request, SessionNames } from "./opencode.ts";
import type { Settings } from "./settings.ts";

/** What opencode is to be told. */
export type Reply =
  | { readonly reply: "once" }
  | { readonly reply: "reject"; readonly message: string }
  | { readonly reply: "answers"; readonly answers: readonly (readonly string[])[] }
  | { readonly reply: "decline" };

/** What opencode announces that it was told. */
export type Word = "once" | "always" | "reject" | "replied" | "rejected";

export type Report =
  | { readonly outcome: "announced" | "answered_here"; readonly reply: Word }
  | { readonly outcome: "gone" };

export interface Fetched {
  readonly state: string;
  readonly reply?: Reply;
}

/** An ask that the server knows. */
export interface Ticket {
  readonly run: string;
  readonly ask: string;
}

/** The server said no. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }

  /** Whether the server does not know this life, or this ask of it. */
  get isForgotten(): boolean {
    return this.status === 404;
  }

  /** Whether trying again later can help. */
  get isPassing(): boolean {
    return this.status >= 500 || this.status === 408 || this.status === 429;
  }
}

/** How long a call may take beyond what it waits for. */
const PATIENCE_MS = 15_000;
/** For how long one call waits for an answer. */
const POLL_S = 30;

export class Door {
  readonly #settings: Settings;
  readonly #opencode: Opencode;
  readonly #process: number | undefined;
  #run: Promise<string> | undefined;

  constructor(settings: Settings, opencode: Opencode, pid: number) {
    this.#settings = settings;
    this.#opencode = opencode;
    // The number of a process means nothing to another machine.
    this.#process = isLoopback(settings.url) ? pid : undefined;
  }

  get url(): string {
    return this.#settings.url;
  }

  async handIn(request: Request, session: SessionNames, input: unknown): Promise<Ticket> {
    const run = await this.#life();
    const body = { kind: request.kind, request: request.properties, session, input };
    const handed = await this.#call<{ ask: string }>("POST", `/runs/${run}/asks`, body);
    return { run, ask: handed.ask };
  }

  /** Waits for the answer, for a while. */
  fetchAnswer(ticket: Ticket, signal: AbortSignal): Promise<Fetched> {
    const path = `/runs/${ticket.run}/asks/${ticket.ask}/answer?timeout_s=${POLL_S}`;
    const limit = AbortSignal.timeout(POLL_S * 1000 + PATIENCE_MS);
    return this.#call("GET", path, undefined, AbortSignal.any([signal, limit]));
  }

  async report(ticket: Ticket, report: Report): Promise<void> {
    await this.#call("POST", `/runs/${ticket.run}/asks/${ticket.ask}/report`, report);
  }

  /** Shows that this opencode is still there, if the server has heard of it. */
  async keepAlive(): Promise<void> {
    const run = await this.#run?.catch(() => undefined);
    if (run === undefined) return;
    const body = this.#process === undefined ? {} : { process: this.#process };
    await this.#call("POST", `/runs/${run}/alive`, body).catch((error: unknown) => {
      if (error instanceof Refused && error.isForgotten) this.forget(run);
    });
  }

  async end(): Promise<void> {
    const run = await this.#run?.catch(() => undefined);
    this.#run = undefined;
    if (run !== undefined) {
      await this.#call("POST", `/runs/${run}/end`, undefined).catch(() => undefined);
    }
  }

  /** The server has forgotten `run`: the next ask announces a new life. */
  forget(run: string): void {
    const current = this.#run;
    current?.then(
      (known) => {
        if (known === run && this.#run === current) this.#run = undefined;
      },
      () => undefined,
    );
  }

  #life(): Promise<string> {
    this.#run ??= this.#announce().catch((error: unknown) => {
      this.#run = undefined;
      throw error;
    });
    return this.#run;
  }

  async #announce(): Promise<string> {
    const life = {
      directory: this.#opencode.directory,
      program: "opencode",
      version: await this.#opencode.version(),
      ...(this.#process === undefined ? {} : { process: this.#process }),
    };
    return (await this.#call<{ run: string }>("POST", "/runs", life)).run;
  }

  async #call<T>(
    method: string,
    path: string,
    body: unknown,
    signal: AbortSignal = AbortSignal.timeout(PATIENCE_MS),
  ): Promise<T> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#settings.token}` };
    if (body !== undefined) headers["content-type"] = "application/json";
    const response = await fetch(`${this.#settings.url}/api/v1/door${path}`, {
      method,
      headers,
      // The token is for this server and no other.
      redirect: "error",
      signal,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Refused(response.status, sentence(response.status, text));
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }
}

function sentence(status: number, text: string): string {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null && "message" in body) return String(body.message);
  } catch {
    // It is no error of the server's own.
  }
  return `status ${status}`;
}

function isLoopback(url: string): boolean {
  const host = new URL(url).hostname;
  return host === "localhost" || host === "[::1]" || host.startsWith("127.");
}

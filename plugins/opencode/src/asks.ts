/**
 * The asks of this opencode: each is handed in, its answer brought back, and what opencode announced reported.
 *
 * The terminal's own dialog stays usable all the while and the first answer wins. Nothing here ever throws
 * into opencode, and nothing counts as delivered that opencode has not announced.
 */
import { Refused } from "./door.ts";
import type { Door, Fetched, Reply, Report, Ticket, Word } from "./door.ts";
import { field, readRequest, text } from "./opencode.ts";
import type { Event, Hooks, Opencode, Request } from "./opencode.ts";
import type { Voice } from "./voice.ts";

/** How long an announcement is waited for before a reply counts as dropped. */
const ANNOUNCEMENT_MS = 2_000;
/** How long to wait before the server is tried again. */
const RETRY_MS = [500, 1_000, 2_000, 5_000, 10_000];
/** How often a reply that opencode still waits for is tried. */
const REPLY_ATTEMPTS = 5;
const HEARTBEAT_MS = 30_000;
/** How long the end of opencode may be held up to report what has happened. */
const FAREWELL_MS = 2_000;
/** More tool calls than can wait at once. */
const MEMORY = 1_000;

/** An ask that opencode waits for. */
interface Pending {
  readonly request: Request;
  /** Aborted once opencode has announced a reply, or the session is at rest without one. */
  readonly over: AbortController;
  /** What opencode announced. */
  word: Word | undefined;
}

export class Asks {
  readonly #door: Door;
  readonly #opencode: Opencode;
  readonly #voice: Voice;
  readonly #pending = new Map<string, Pending>();
  readonly #carrying = new Map<Pending, Promise<void>>();
  readonly #inputs = new Map<string, { args: unknown }>();
  readonly #agents = new Map<string, string>();
  #heartbeat: NodeJS.Timeout | undefined;
  /** After the end there is nothing to say any more. */
  #ended = false;

  constructor(door: Door, opencode: Opencode, voice: Voice) {
    this.#door = door;
    this.#opencode = opencode;
    this.#voice = voice;
  }

  hooks(): Hooks {
    return {
      event: async ({ event }) => {
        try {
          await this.take(event);
        } catch (error) {
          this.#voice.say(`something went wrong: ${String(error)}`);
        }
      },
      "tool.execute.before": async (input, output) => {
        if (this.#inputs.size >= MEMORY) this.#inputs.clear();
        // Kept as it is: what other plugins change about it later is what will run.
        this.#inputs.set(`${input.sessionID} ${input.callID}`, output);
      },
      "tool.execute.after": async (input) => {
        this.#inputs.delete(`${input.sessionID} ${input.callID}`);
      },
      dispose: () => this.end(),
    };
  }

  /** Takes in what opencode announces. */
  async take(event: Event): Promise<void> {
    const properties = event.properties;
    const announced = (word: unknown): void => {
      this.#settle(text(properties["requestID"]), isWord(word) ? word : undefined);
    };
    switch (event.type) {
      case "permission.asked":
      case "question.asked":
        return this.#open(event);
      case "permission.replied":
        return announced(properties["reply"]);
      case "question.replied":
        return announced("replied");
      case "question.rejected":
        return announced("rejected");
      case "session.idle":
        return this.#atRest(text(properties["sessionID"]));
      case "session.deleted":
        return this.#atRest(text(field(properties["info"], "id")));
      case "message.updated":
        return this.#nameAgent(properties["info"]);
      case "server.instance.disposed":
        return properties["directory"] === this.#opencode.directory ? this.end() : undefined;
    }
  }

  /** Reports what is left to report, and says good-bye. */
  async end(): Promise<void> {
    clearInterval(this.#heartbeat);
    this.#heartbeat = undefined;
    const isOver = ([pending]: [Pending, unknown]): boolean => pending.over.signal.aborted;
    const reports = [...this.#carrying].filter(isOver).map(([, carrying]) => carrying);
    await Promise.race([Promise.allSettled(reports), pause(FAREWELL_MS)]);
    this.#ended = true;
    // What is still open ends with this life.
    await Promise.race([this.#door.end(), pause(FAREWELL_MS)]);
    for (const pending of this.#pending.values()) pending.over.abort();
  }

  #open(event: Event): void {
    const request = readRequest(event);
    if (request === undefined || this.#pending.has(request.id)) return;
    const pending: Pending = { request, over: new AbortController(), word: undefined };
    this.#pending.set(request.id, pending);
    this.#heartbeat ??= setInterval(() => void this.#door.keepAlive(), HEARTBEAT_MS).unref();
    const carrying = this.#carry(pending)
      .catch((error: unknown) => this.#voice.say(this.#lament(error)))
      .finally(() => {
        this.#pending.delete(request.id);
        this.#carrying.delete(pending);
      });
    this.#carrying.set(pending, carrying);
  }

  #settle(id: string | undefined, word: Word | undefined): void {
    const pending = id === undefined ? undefined : this.#pending.get(id);
    if (pending === undefined) return;
    pending.word ??= word;
    pending.over.abort();
    if (word === "reject" && this.#voice.answersByItself) {
      this.#voice.say(
        "`opencode run` rejects every ask by itself, before anybody can answer it. " +
          "Use opencode's TUI or `opencode serve` to have asks answered.",
      );
    }
  }

  /** A session that rests waits for nothing: what it asked for is gone, unless it was answered. */
  #atRest(session: string | undefined): void {
    for (const pending of this.#pending.values()) {
      if (pending.request.session === session) pending.over.abort();
    }
  }

  #nameAgent(message: unknown): void {
    const session = text(field(message, "sessionID"));
    const agent = text(field(message, "agent")) ?? text(field(message, "mode"));
    if (session === undefined || agent === undefined || field(message, "role") !== "assistant") {
      return;
    }
    if (this.#agents.size >= MEMORY) this.#agents.clear();
    this.#agents.set(session, agent);
  }

  /** Carries one ask from its announcement to the report of what became of it. */
  async #carry(pending: Pending): Promise<void> {
    for (;;) {
      const ticket = await this.#handIn(pending);
      if (ticket === undefined) return;
      const fetched = await this.#answer(pending, ticket);
      // The server has forgotten this life of opencode, and the ask with it.
      if (fetched === "forgotten") continue;
      if (fetched?.reply !== undefined) {
        await this.#bring(pending, fetched.reply, ticket);
      } else if (pending.over.signal.aborted) {
        await this.#report(ticket, whatHappened(pending, undefined));
      }
      return;
    }
  }

  /** Hands the ask in; nothing if it was over before the server heard of it, or the server will not have it. */
  async #handIn(pending: Pending): Promise<Ticket | undefined> {
    const { request } = pending;
    const names = await this.#opencode.names(request.session, this.#agents.get(request.session));
    const input = this.#inputs.get(`${request.session} ${request.call}`)?.args;
    for (let attempt = 0; ; attempt++) {
      try {
        const ticket = await this.#door.handIn(request, names, input);
        this.#voice.forget(this.#unreachable);
        return ticket;
      } catch (error) {
        if (error instanceof Refused && !error.isPassing && !error.isForgotten) {
          this.#voice.say(`an ask stays in the terminal: ${error.message}`);
          return undefined;
        }
        this.#excuse(error, undefined);
        if (pending.over.signal.aborted) return undefined;
        await pause(delay(attempt), pending.over.signal);
        // One that was answered while the server was away is nobody's business any more.
        if (pending.over.signal.aborted) return undefined;
      }
    }
  }

  /** Waits for the answer; nothing if opencode has been answered meanwhile. */
  async #answer(pending: Pending, ticket: Ticket): Promise<Fetched | "forgotten" | undefined> {
    for (let attempt = 0; !pending.over.signal.aborted; ) {
      try {
        const fetched = await this.#door.fetchAnswer(ticket, pending.over.signal);
        this.#voice.forget(this.#unreachable);
        attempt = 0;
        if (fetched.reply !== undefined || fetched.state !== "open") return fetched;
      } catch (error) {
        if (pending.over.signal.aborted) return undefined;
        if (this.#excuse(error, ticket) === "forgotten") return "forgotten";
        await pause(delay(attempt++), pending.over.signal);
      }
    }
    return undefined;
  }

  /** Tells opencode the answer, and the server what came of it. */
  async #bring(pending: Pending, reply: Reply, ticket: Ticket): Promise<void> {
    const { request, over } = pending;
    // Somebody was faster in the terminal.
    if (over.signal.aborted) return this.#report(ticket, whatHappened(pending, undefined));
    const expected = wordOf(reply);
    for (let attempt = 0; attempt < REPLY_ATTEMPTS && !over.signal.aborted; attempt++) {
      await this.#opencode.replyByClient(request, reply).catch(() => undefined);
      await pause(ANNOUNCEMENT_MS, over.signal);
      if (over.signal.aborted) break;
      await this.#opencode.replyByUrl(request, reply);
      await pause(ANNOUNCEMENT_MS, over.signal);
      if (over.signal.aborted) break;
      if (!(await this.#opencode.isHeld(request))) {
        return this.#report(ticket, { outcome: "gone" });
      }
    }
    if (!over.signal.aborted) {
      this.#voice.say(
        "opencode does not take an answer that was given; answer in the terminal. " +
          "A newer opencode, or one started with `--port`, takes it.",
      );
      await aborted(over.signal);
    }
    return this.#report(ticket, whatHappened(pending, expected));
  }

  async #report(ticket: Ticket, report: Report): Promise<void> {
    for (let attempt = 0; attempt < 100 && !this.#ended; attempt++) {
      try {
        return await this.#door.report(ticket, report);
      } catch (error) {
        // What the server has forgotten, it has ended.
        if (this.#excuse(error, ticket) === "forgotten") return;
        if (error instanceof Refused && !error.isPassing) throw error;
        await pause(delay(attempt));
      }
    }
  }

  /** Says what is wrong with the server, once; and whether it has forgotten this life. */
  #excuse(error: unknown, ticket: Ticket | undefined): "forgotten" | "unreachable" {
    if (error instanceof Refused && error.isForgotten) {
      if (ticket !== undefined) this.#door.forget(ticket.run);
      else void this.#door.keepAlive();
      return "forgotten";
    }
    this.#voice.say(this.#unreachable);
    return "unreachable";
  }

  get #unreachable(): string {
    return `${this.#door.url} cannot be reached; until then asks are answered in the terminal alone`;
  }

  #lament(error: unknown): string {
    const message = error instanceof Error ? error.message : String(error);
    return `an ask stays in the terminal: ${message}`;
  }
}

/** What is to be reported once an ask is over; `expected` is what opencode was told from here. */
function whatHappened(pending: Pending, expected: Word | undefined): Report {
  if (pending.word === undefined) return { outcome: "gone" };
  const outcome = pending.word === expected ? "announced" : "answered_here";
  return { outcome, reply: pending.word };
}

function wordOf(reply: Reply): Word {
  switch (reply.reply) {
    case "once":
    case "reject":
      return reply.reply;
    case "answers":
      return "replied";
    case "decline":
      return "rejected";
  }
}

function isWord(word: unknown): word is Word {
  return ["once", "always", "reject", "replied", "rejected"].some((known) => known === word);
}

function delay(attempt: number): number {
  return RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)] ?? 0;
}

/** Waits for a time, or until `signal`. It holds nothing up that wants to end. */
function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", done, { once: true });
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

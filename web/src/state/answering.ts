/*
 * Gives answers, and remembers for each ask how that went until the ledger has told the rest.
 *
 * Whoever wishes it has a moment to take an answer back: until then it is held here and has not been sent. An answer that
 * is held when the page goes away is not given.
 */
import { createSignal } from "solid-js";
import { answerAsk, ApiError, sentenceOf } from "../api/client.ts";
import type { AnswerRequest } from "../api/types.ts";
import { batchesOf, type Batch } from "./grouping.ts";
import { learnAsk, ledger } from "./live.ts";
import { preferences } from "./preferences.ts";

export type Attempt =
  /** It can still be taken back. */
  | { kind: "held" }
  | { kind: "sending" }
  /** Somebody was first, or the ask was over: it says how itself. */
  | { kind: "late" }
  | { kind: "failed"; problem: string };

/** Answers that have not been sent yet. */
export interface Held {
  id: number;
  asks: readonly string[];
  request: AnswerRequest;
  /** When it is sent, in the browser's time. */
  until: number;
}

/** How many answers are on their way at a time. */
const AT_ONCE = 6;

const [attempts, setAttempts] = createSignal<Readonly<Record<string, Attempt>>>({});
const [held, setHeld] = createSignal<readonly Held[]>([]);
const [batches, setBatches] = createSignal<readonly Batch[]>([]);
const timers = new Map<number, ReturnType<typeof setTimeout>>();
const [report, setReport] = createSignal<Report>();
let count = 0;

export {
  /** The answers that were given to several asks at once. */
  batches,
  held,
  /** What came of the newest answer to several asks. */
  report,
};

export interface Report {
  accepted: number;
  late: number;
  failed: number;
}

/** How the newest answer from this page to an ask went; nothing once it was accepted. */
export const attemptOf = (ask: string): Attempt | undefined => attempts()[ask];

/** Gives one answer to each of these asks, unless one is on its way: at once, or after the time to take it back. */
export function give(asks: readonly string[], request: AnswerRequest): void {
  const fresh = asks.filter((ask) => !isUnderWay(attempts()[ask]));
  if (fresh.length === 0) return;
  const wait = preferences().undo * 1000;
  if (wait === 0) {
    void sendAll(fresh, request);
    return;
  }
  count += 1;
  const id = count;
  note(fresh, { kind: "held" });
  setHeld([...held(), { id, asks: fresh, request, until: Date.now() + wait }]);
  timers.set(
    id,
    setTimeout(() => sendNow(id), wait),
  );
}

/** Sends a held answer without waiting any longer. */
export function sendNow(id: number): void {
  const found = release(id);
  if (found !== undefined) void sendAll(found.asks, found.request);
}

/** Takes a held answer back: it was never given. */
export function takeBack(id: number): void {
  release(id);
}

function release(id: number): Held | undefined {
  const found = held().find((each) => each.id === id);
  if (found === undefined) return undefined;
  clearTimeout(timers.get(id));
  timers.delete(id);
  setHeld(held().filter((each) => each.id !== id));
  note(found.asks, undefined);
  return found;
}

async function sendAll(asks: readonly string[], request: AnswerRequest): Promise<void> {
  const known = asks.flatMap((ask) => ledger().asks[ask] ?? []);
  setBatches([...batches(), ...batchesOf(known, request.answer !== "deny")]);
  note(asks, { kind: "sending" });
  const left = [...asks];
  const work = async () => {
    for (let ask = left.shift(); ask !== undefined; ask = left.shift()) await send(ask, request);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, asks.length) }, work));
  const counted = (kind: Attempt["kind"]) => asks.filter((ask) => attempts()[ask]?.kind === kind).length;
  const [late, failed] = [counted("late"), counted("failed")];
  if (asks.length > 1) setReport({ accepted: asks.length - late - failed, late, failed });
}

async function send(ask: string, request: AnswerRequest): Promise<void> {
  try {
    learnAsk(await answerAsk(ask, request));
    note([ask], undefined);
  } catch (error) {
    if (error instanceof ApiError && error.ask !== undefined) {
      learnAsk(error.ask);
      note([ask], { kind: "late" });
    } else {
      note([ask], { kind: "failed", problem: sentenceOf(error) });
      // It has no answer: it is on its own again, or with those that are still like it.
      setBatches(batches().map((batch) => ({ ...batch, members: batch.members.filter((member) => member !== ask) })));
    }
  }
}

const isUnderWay = (attempt: Attempt | undefined): boolean => attempt?.kind === "held" || attempt?.kind === "sending";

function note(asks: readonly string[], attempt: Attempt | undefined): void {
  const rest = Object.entries(attempts()).filter(([id]) => !asks.includes(id));
  setAttempts(Object.fromEntries([...rest, ...(attempt === undefined ? [] : asks.map((ask) => [ask, attempt] as const))]));
}

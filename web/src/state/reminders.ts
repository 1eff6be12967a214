/* Which asks that wait are to be brought to mind. Pure: it only tells, and nothing is ever decided by time. */
import type { AskView } from "../api/types.ts";

const MINUTE = 60_000;
/** An ask is about to run out this long before it does. */
export const URGENT_MS = 5 * MINUTE;

export type Reminder = { why: "waiting"; asks: readonly AskView[] } | { why: "expiring"; asks: readonly AskView[] };

/** How often each ask was brought to mind, or taken note of. */
export type Reminded = ReadonlyMap<string, number>;

/** What the asks call for now: those about to run out first. `every` minutes, and none of the other kind if that is none. */
export function remindersOf(open: readonly AskView[], now: number, every: number, reminded: Reminded): Reminder[] {
  const expiring = open.filter((ask) => isUrgent(ask, now) && !reminded.has(expiryKey(ask)));
  const waiting = every === 0 ? [] : open.filter((ask) => timesDue(ask, now, every) > (reminded.get(ask.id) ?? 0));
  return [
    ...(expiring.length === 0 ? [] : [{ why: "expiring" as const, asks: expiring }]),
    ...(waiting.length === 0 ? [] : [{ why: "waiting" as const, asks: waiting }]),
  ];
}

/** After somebody took note of a reminder. */
export function noted(reminded: Reminded, reminder: Reminder, now: number, every: number): Reminded {
  const entries = reminder.asks.map((ask): [string, number] =>
    reminder.why === "expiring" ? [expiryKey(ask), 1] : [ask.id, timesDue(ask, now, every)],
  );
  return new Map([...reminded, ...entries]);
}

/** Milliseconds until an ask runs out; nothing if it does not. */
export function timeLeft(ask: AskView, now: number): number | undefined {
  return ask.expires_at === undefined ? undefined : Math.max(0, Date.parse(ask.expires_at) - now);
}

/** Whether an ask is about to run out. */
export function isUrgent(ask: AskView, now: number): boolean {
  const left = timeLeft(ask, now);
  return left !== undefined && left <= URGENT_MS;
}

function timesDue(ask: AskView, now: number, every: number): number {
  return Math.max(0, Math.floor((now - Date.parse(ask.opened_at)) / (every * MINUTE)));
}

function expiryKey(ask: AskView): string {
  return `${ask.id} expiring`;
}

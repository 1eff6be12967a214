/* Where things stand in a chart: scales, ticks and what they are called. Pure. */
import type { DayFigures, Fates } from "../api/types.ts";

/** What became of asks, as few kinds as an eye can tell apart, in the order in which they are stacked. */
export const KINDS = ["allowed", "denied", "byRule", "unanswered", "open"] as const;
export type Kind = (typeof KINDS)[number];

export function kindsOf(fates: Fates): Record<Kind, number> {
  return {
    allowed: fates.allowed,
    denied: fates.denied,
    byRule: fates.allowed_by_rule + fates.denied_by_rule,
    unanswered: fates.expired + fates.withdrawn,
    open: fates.open,
  };
}

/** Parts of a whole one after the other: where each begins and how long it is; empty ones are left out. */
export function stacked<K extends string>(parts: readonly (readonly [K, number])[], scale: number): { kind: K; from: number; length: number; count: number }[] {
  let from = 0;
  return parts.flatMap(([kind, count]) => {
    if (count === 0) return [];
    const part = { kind, from, length: count * scale, count };
    from += part.length;
    return [part];
  });
}

/** A round number that is at least `most`, and the ticks up to it. */
export function ticksTo(most: number): number[] {
  if (most <= 0) return [0, 1];
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough) ?? power);
  const count = Math.ceil(most / step);
  return Array.from({ length: count + 1 }, (_, at) => at * step);
}

/** Lengths of time that stand at the side of a chart, in seconds. */
const TIMES = [1, 10, 60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400] as const;

/** The times for a chart in which `most` seconds is the longest: to the first that is no shorter. */
export function timeTicks(most: number): number[] {
  const last = TIMES.findIndex((time) => time >= most);
  return TIMES.slice(0, last < 0 ? TIMES.length : Math.max(last, 1) + 1);
}

/** How far up a length of time is, from 0 to 1: each tenfold is as far as the one before. */
export function height(seconds: number, most: number): number {
  const log = (value: number) => Math.log10(Math.max(1, value));
  return Math.min(1, log(seconds) / log(Math.max(10, most)));
}

/** Which of so many days are named, so that `room` of them fit: the last one always. */
export function namedDays(count: number, room: number): ReadonlySet<number> {
  const step = Math.max(1, Math.ceil(count / Math.max(1, room)));
  return new Set(Array.from({ length: count }, (_, at) => at).filter((at) => (count - 1 - at) % step === 0));
}

/** How many asks there were on these days. */
export function asksIn(days: readonly DayFigures[]): number {
  return days.reduce((sum, day) => sum + day.asks, 0);
}

/** A share in percent, as exact as it has to be: what is not all of it is never `100`. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return "0";
  const exact = (100 * part) / whole;
  if (part < whole && exact > 99.9) return "99.9";
  return exact === 100 || exact === 0 ? String(exact) : exact.toFixed(1).replace(/\.0$/, "");
}

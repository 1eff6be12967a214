/*
 * What a job spent its time with, from its log and from what happened in its session. Pure: values in, values out.
 *
 * The log says how the job stood; while it ran, its tool calls say when a tool was at work, and what is left is thinking.
 */
import type { JobLogEntry, JobView, TranscriptItem } from "../api/types.ts";

export const KINDS = ["queued", "starting", "waiting", "tool", "thinking"] as const;
export type Kind = (typeof KINDS)[number];

export interface Stretch {
  kind: Kind;
  /** In milliseconds since 1970. */
  from: number;
  to: number;
  /** The tools that were at work. */
  tools?: string[];
}

/** The stretches of a job, in order, without gaps; `now` ends the last one of a job that has not ended. */
export function stretchesOf(job: JobView, log: readonly JobLogEntry[], items: readonly TranscriptItem[], now: number): Stretch[] {
  const end = job.ended_at === undefined ? now : Date.parse(job.ended_at);
  const stretches: Stretch[] = [];
  const add = (stretch: Stretch) => {
    if (stretch.to <= stretch.from) return;
    const last = stretches.at(-1);
    if (last !== undefined && last.kind === stretch.kind && last.to === stretch.from) {
      last.to = stretch.to;
      if (stretch.tools !== undefined) last.tools = [...new Set([...(last.tools ?? []), ...stretch.tools])];
    } else stretches.push(stretch);
  };
  const calls = callsOf(items, end);
  for (const [index, entry] of log.entries()) {
    const from = Date.parse(entry.at);
    const next = log[index + 1];
    const to = Math.min(next === undefined ? end : Date.parse(next.at), end);
    switch (entry.state) {
      case "queued":
      case "starting":
      case "waiting":
        add({ kind: entry.state, from, to });
        break;
      case "running":
        for (const stretch of ran(calls, from, to)) add(stretch);
        break;
      default:
        // It is over.
        break;
    }
  }
  return stretches;
}

interface Call {
  tool: string;
  from: number;
  to: number;
}

/** The tool calls with their times; one that says no end has lasted until what came next. */
function callsOf(items: readonly TranscriptItem[], end: number): Call[] {
  return items.flatMap((item, index) => {
    if (item.kind !== "tool") return [];
    const from = Date.parse(item.at);
    const isOver = item.status === "completed" || item.status === "failed";
    const next = items[index + 1];
    const to = !isOver ? end : item.changed_at !== undefined ? Date.parse(item.changed_at) : next === undefined ? from : Date.parse(next.at);
    return [{ tool: item.tool, from, to }];
  });
}

/** What a job did while it ran. */
function ran(calls: readonly Call[], from: number, to: number): Stretch[] {
  const within = calls
    .filter((call) => call.to > from && call.from < to)
    .map((call) => ({ ...call, from: Math.max(call.from, from), to: Math.min(call.to, to) }))
    .toSorted((a, b) => a.from - b.from);
  const stretches: Stretch[] = [];
  let at = from;
  for (const call of within) {
    if (call.from > at) stretches.push({ kind: "thinking", from: at, to: call.from });
    const begins = Math.max(call.from, at);
    if (call.to > begins) stretches.push({ kind: "tool", from: begins, to: call.to, tools: [call.tool] });
    at = Math.max(at, call.to);
  }
  if (to > at) stretches.push({ kind: "thinking", from: at, to });
  return stretches;
}

/** How long each kind took together, and what part of the whole that is. */
export function totals(stretches: readonly Stretch[]): { kind: Kind; milliseconds: number; share: number }[] {
  const whole = stretches.reduce((sum, stretch) => sum + stretch.to - stretch.from, 0);
  return KINDS.flatMap((kind) => {
    const milliseconds = stretches.filter((stretch) => stretch.kind === kind).reduce((sum, stretch) => sum + stretch.to - stretch.from, 0);
    return milliseconds === 0 ? [] : [{ kind, milliseconds, share: milliseconds / whole }];
  });
}

/** The picture has so many stretches at most; what is shorter than a hair is drawn with what is beside it. */
export function drawn(stretches: readonly Stretch[], width: number): { kind: Kind; x: number; width: number }[] {
  const [first, last] = [stretches[0], stretches.at(-1)];
  if (first === undefined || last === undefined) return [];
  const scale = width / (last.to - first.from);
  const bars: { kind: Kind; x: number; width: number }[] = [];
  let pending = 0;
  for (const stretch of stretches) {
    const size = (stretch.to - stretch.from) * scale;
    const x = (stretch.from - first.from) * scale - pending;
    if (size + pending < HAIR && stretch !== last) {
      pending += size;
      continue;
    }
    bars.push({ kind: stretch.kind, x, width: size + pending });
    pending = 0;
  }
  return bars;
}

/** In the picture's own measure. */
const HAIR = 1;

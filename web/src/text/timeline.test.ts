import { expect, test } from "vitest";
import type { JobLogEntry, TranscriptItem } from "../api/types.ts";
import { sampleJob } from "../state/samples.ts";
import { drawn, stretchesOf, totals } from "./timeline.ts";

const at = (second: number) => new Date(Date.UTC(2026, 10, 17, 12, 0, second)).toISOString();
const ms = (second: number) => Date.parse(at(second));
const line = (seq: number, second: number, state: JobLogEntry["state"]): JobLogEntry => ({ seq, at: at(second), state, text: state });
const call = (seq: number, from: number, to?: number): TranscriptItem => ({
  seq,
  native_id: `call_${seq}`,
  at: at(from),
  ...(to === undefined ? {} : { changed_at: at(to) }),
  kind: "tool",
  tool: "bash",
  status: to === undefined ? "running" : "completed",
  input: {},
  output: "",
});

const LOG = [line(1, 0, "queued"), line(2, 4, "starting"), line(3, 5, "running"), line(4, 10, "waiting"), line(5, 30, "running"), line(6, 40, "completed")];

test("a job's time is told without gaps: waiting for people, running tools, thinking", () => {
  const job = sampleJob({ state: "completed", ended_at: at(40) });
  const stretches = stretchesOf(job, LOG, [call(1, 8, 33)], ms(99));
  expect(stretches.map(({ kind, from, to }) => [kind, from - ms(0), to - ms(0)])).toEqual([
    ["queued", 0, 4_000],
    ["starting", 4_000, 5_000],
    ["thinking", 5_000, 8_000],
    ["tool", 8_000, 10_000],
    // A call that waits for leave is a person's time, not the tool's.
    ["waiting", 10_000, 30_000],
    ["tool", 30_000, 33_000],
    ["thinking", 33_000, 40_000],
  ]);
  expect(totals(stretches).map(({ kind, milliseconds }) => [kind, milliseconds])).toEqual([
    ["queued", 4_000],
    ["starting", 1_000],
    ["waiting", 20_000],
    ["tool", 5_000],
    ["thinking", 10_000],
  ]);
});

test("a job that goes on lasts until now, and so does a tool that has not ended", () => {
  const stretches = stretchesOf(sampleJob({ state: "running" }), LOG.slice(0, 3), [call(1, 8)], ms(20));
  expect(stretches.at(-1)).toEqual({ kind: "tool", from: ms(8), to: ms(20), tools: ["bash"] });
});

test("calls at the same time count once", () => {
  const job = sampleJob({ state: "completed", ended_at: at(20) });
  const log = [line(1, 0, "running"), line(2, 20, "completed")];
  const stretches = stretchesOf(job, log, [call(1, 2, 10), call(2, 4, 6), call(3, 8, 12)], ms(99));
  expect(stretches.map(({ kind, to, from }) => [kind, to - from])).toEqual([
    ["thinking", 2_000],
    ["tool", 10_000],
    ["thinking", 8_000],
  ]);
});

test("the picture is as wide as it is, however many stretches there are", () => {
  const stretches = Array.from({ length: 10_000 }, (_, index) => ({ kind: index % 2 === 0 ? ("tool" as const) : ("thinking" as const), from: index, to: index + 1 }));
  const bars = drawn(stretches, 1_000);
  expect(bars.length).toBeLessThanOrEqual(1_001);
  expect(bars.reduce((sum, bar) => sum + bar.width, 0)).toBeCloseTo(1_000);
  expect(drawn([], 1_000)).toEqual([]);
});

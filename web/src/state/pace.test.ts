import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Pace } from "./pace.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("what comes together is taken in together, in order, and nothing is left out", () => {
  const taken: number[][] = [];
  const pace = new Pace<number>((all) => taken.push([...all]));
  for (let one = 0; one < 10_000; one += 1) {
    pace.add(one);
    vi.advanceTimersByTime(1);
  }
  vi.advanceTimersByTime(1_000);
  expect(taken.flat()).toEqual(Array.from({ length: 10_000 }, (_, one) => one));
  expect(taken.length).toBeLessThanOrEqual(110);
});

test("what comes alone waits for nothing", () => {
  const taken: string[] = [];
  const pace = new Pace<string>((all) => taken.push(...all));
  vi.advanceTimersByTime(5_000);
  pace.add("a");
  vi.advanceTimersByTime(1);
  expect(taken).toEqual(["a"]);
});

import { expect, test } from "vitest";
import { height, namedDays, percent, stacked, ticksTo, timeTicks } from "./charting.ts";

test("ticks are round, few, and reach as far as they have to", () => {
  expect(ticksTo(0)).toEqual([0, 1]);
  expect(ticksTo(1)).toEqual([0, 1]);
  expect(ticksTo(3)).toEqual([0, 1, 2, 3]);
  expect(ticksTo(7)).toEqual([0, 2, 4, 6, 8]);
  expect(ticksTo(230)).toEqual([0, 100, 200, 300]);
  for (const most of [1, 2, 9, 10, 11, 99, 1234, 500_000]) {
    const ticks = ticksTo(most);
    expect(ticks.at(-1)).toBeGreaterThanOrEqual(most);
    expect(ticks.length).toBeLessThanOrEqual(6);
  }
});

test("times stand as far apart as they are times each other", () => {
  expect(timeTicks(0)).toEqual([1, 10]);
  expect(timeTicks(45)).toEqual([1, 10, 60]);
  expect(timeTicks(10 * 86_400).at(-1)).toBe(7 * 86_400);
  expect(height(0, 3600)).toBe(0);
  expect(height(60, 3600)).toBeCloseTo(0.5);
  expect(height(3600, 3600)).toBe(1);
  expect(height(1e9, 3600)).toBe(1);
});

test("parts are stacked without those that are empty", () => {
  const parts = [["a", 2], ["b", 0], ["c", 1]] as const;
  expect(stacked(parts, 10)).toEqual([
    { kind: "a", from: 0, length: 20, count: 2 },
    { kind: "c", from: 20, length: 10, count: 1 },
  ]);
});

test("the last day is always named", () => {
  expect([...namedDays(7, 10)]).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect([...namedDays(30, 5)]).toEqual([5, 11, 17, 23, 29]);
});

test("what is not all of it is never all of it", () => {
  expect(percent(1, 1)).toBe("100");
  expect(percent(999_999, 1_000_000)).toBe("99.9");
  expect(percent(2, 3)).toBe("66.7");
  expect(percent(1, 2)).toBe("50");
  expect(percent(0, 5)).toBe("0");
  expect(percent(0, 0)).toBe("0");
});

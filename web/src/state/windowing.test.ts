import { expect, test } from "vitest";
import { drawn, placesOf, roomsOf, rowAt } from "./windowing.ts";

const keys = Array.from({ length: 100_000 }, (_, at) => at);

test("rows stand below each other, measured where they were and guessed where not", () => {
  const places = placesOf(["a", "b", "c"], new Map([["b", 30]]), 10, 5);
  expect([...places]).toEqual([0, 15, 50, 65]);
});

test("a row covers its own height and the gap below it", () => {
  const places = placesOf(["a", "b", "c"], new Map(), 10, 5);
  expect([-50, 0, 14, 15, 44, 999].map((offset) => rowAt(places, offset))).toEqual([0, 0, 0, 1, 2, 2]);
});

test("of a hundred thousand rows those in sight are drawn, and those that must be", () => {
  const places = placesOf(keys, new Map(), 20, 0);
  const rows = drawn(places, { from: 1_000_000, to: 1_000_200 }, [3, -1, 50_001, 999_999_999]);
  expect(rows[0]).toBe(3);
  expect(rows.slice(1)).toEqual(Array.from({ length: 11 }, (_, at) => 50_000 + at));
});

test("what is not drawn leaves its room, so that the whole is as high as if all were", () => {
  const places = placesOf(keys, new Map([[50_003, 100]]), 20, 2);
  for (const always of [[], [3], [3, 99_999]]) {
    const rows = drawn(places, { from: 1_100_000, to: 1_100_500 }, always);
    const { before, after } = roomsOf(places, rows);
    const own = rows.reduce((sum, row) => sum + (row === 50_003 ? 102 : 22), 0);
    expect(before.reduce((sum, room) => sum + room, 0) + own + after).toBe(places.at(-1));
  }
});

test("an empty list draws nothing", () => {
  const places = placesOf([], new Map(), 20, 2);
  expect(drawn(places, { from: 0, to: 100 }, [0])).toEqual([]);
  expect(roomsOf(places, [])).toEqual({ before: [], after: 0 });
});

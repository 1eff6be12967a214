import { expect, test } from "vitest";
import { DEFAULTS, readPreferences } from "./preferences.ts";

test("what was kept is read, and answers are sent at once unless somebody wished otherwise", () => {
  expect(readPreferences(null)).toEqual(DEFAULTS);
  expect(DEFAULTS.undo).toBe(0);
  expect(readPreferences('{"theme":"dark","undo":10}')).toEqual({ ...DEFAULTS, theme: "dark", undo: 10 });
});

test("what is no choice, or no JSON, is as it is at first", () => {
  for (const kept of ["", "{", "null", "[]", '{"theme":"pink","undo":7,"remind":"5","diff":null}']) {
    expect({ kept, read: readPreferences(kept) }).toEqual({ kept, read: DEFAULTS });
  }
});

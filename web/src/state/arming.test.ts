import { expect, test } from "vitest";
import { armsIn } from "./arming.ts";

test("an ask takes answers a moment after it was first shown, and from then on", () => {
  expect(armsIn(1000, 1000)).toBe(400);
  expect(armsIn(1000, 1399)).toBe(1);
  expect(armsIn(1000, 1400)).toBe(0);
  expect(armsIn(1000, 99_000)).toBe(0);
});

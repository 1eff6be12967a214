import { expect, test } from "vitest";
import { newTurnId } from "./turn-id.ts";

test("a turn's id has the form that the server reads", () => {
  expect(newTurnId()).toMatch(/^turn_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
  expect(newTurnId(0, new Uint8Array(10))).toBe("turn_0000000000e008000000000000");
});

test("ids sort by time and differ", () => {
  expect(newTurnId(1_000) < newTurnId(2_000)).toBe(true);
  expect(newTurnId(1_000)).not.toBe(newTurnId(1_000));
});

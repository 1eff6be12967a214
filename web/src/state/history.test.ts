import { expect, test } from "vitest";
import type { AskView } from "../api/types.ts";
import { settledSoFar } from "./history.ts";
import { EMPTY, withAsks } from "./ledger.ts";
import { sampleAsk } from "./samples.ts";

const past = (number: number, change: Partial<AskView> = {}) =>
  sampleAsk({ id: `ask_${number}`, opened_at: `2026-11-15T18:0${number}:00.000000Z`, state: "delivered", ...change });
const ledger = withAsks(EMPTY, [past(1), past(2, { state: "expired" }), past(3, { summary: "make" }), past(4, { state: "open" })]);
const ids = (...rest: [Parameters<typeof settledSoFar>[1], Parameters<typeof settledSoFar>[2]]) =>
  settledSoFar(ledger, ...rest).map((ask) => ask.id);

test("what was read so far is shown, the newest first, and nothing that waits", () => {
  expect(ids({ filter: { search: "" } }, { down: "beginning" })).toEqual(["ask_3", "ask_2", "ask_1"]);
  expect(ids({ filter: { search: "" } }, { down: "nowhere" })).toEqual([]);
});

test("what lies deeper than was read is not shown, though the page knows it: between there may be others", () => {
  expect(ids({ filter: { search: "" } }, { down: "to", ask: "ask_2" })).toEqual(["ask_3", "ask_2"]);
});

test("it is chosen by how it ended, and by words", () => {
  expect(ids({ filter: { search: "" }, ending: "expired" }, { down: "beginning" })).toEqual(["ask_2"]);
  expect(ids({ filter: { search: "make" } }, { down: "beginning" })).toEqual(["ask_3"]);
});

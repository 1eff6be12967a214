import { expect, test } from "vitest";
import type { AskView } from "../api/types.ts";
import { batchesOf, openIn, rowsOf } from "./grouping.ts";
import { ADA, BOB, sampleAsk, sampleWrite } from "./samples.ts";

const at = "2026-11-15T18:44:00.000000Z";
const one = sampleAsk({ id: "ask_1", session: "session_1" });
const two = sampleAsk({ id: "ask_2", session: "session_2" });
const three = sampleAsk({ id: "ask_3", session: "session_3" });
const other = sampleAsk({ id: "ask_4", likeness: "l2" });
const NONE: ReadonlySet<string> = new Set();

const ids = (asks: readonly AskView[], ...rest: [Parameters<typeof rowsOf>[1]?, ReadonlySet<string>?]) =>
  rowsOf(asks, rest[0] ?? [], rest[1] ?? NONE).map((row) => row.members.map((ask) => ask.id));

const allowed = (ask: AskView): AskView => ({
  ...ask,
  state: "delivered",
  may_answer: false,
  answer: { answer: "allow_once", by: ADA, surface: "web", at },
});

test("asks that are alike stand together, in the place of the first", () => {
  expect(ids([one, other, two, three])).toEqual([["ask_1", "ask_2", "ask_3"], ["ask_4"]]);
});

test("one that somebody wants to answer alone stands alone", () => {
  expect(ids([one, two, three], [], new Set(["ask_2"]))).toEqual([["ask_1", "ask_3"], ["ask_2"]]);
});

test("what cannot be answered alike is not together: another workspace, other options, no grant", () => {
  const elsewhere = { ...two, workspace: "ws_2" };
  const ambiguous: AskView = {
    ...two,
    door: "acp",
    options: [
      { id: "a", name: "Yes", kind: "allow_once" },
      { id: "b", name: "Yes as well", kind: "allow_once" },
    ],
  };
  const unreachable = { ...two, may_answer: false };
  for (const ask of [elsewhere, ambiguous, unreachable]) expect(ids([one, ask])).toEqual([["ask_1"], ["ask_2"]]);
});

test("questions and writes are nobody's like", () => {
  const write = { ...sampleWrite(), likeness: "l1" };
  const question: AskView = { ...two, subject: { kind: "question", questions: [] } };
  expect(ids([write, { ...write, id: "ask_9" }, question, { ...question, id: "ask_8" }])).toHaveLength(4);
});

test("what is over is in no group that somebody could still answer", () => {
  expect(ids([allowed(one), two, three])).toEqual([["ask_1"], ["ask_2", "ask_3"]]);
});

test("after one answer the group stays together while its deliveries come in", () => {
  const batch = { members: ["ask_1", "ask_2", "ask_3"], yes: true };
  expect(ids([allowed(one), two, allowed(three)], [batch])).toEqual([["ask_1", "ask_2", "ask_3"]]);
  const [row] = rowsOf([allowed(one), two, allowed(three)], [batch], NONE);
  expect(row && openIn(row)).toEqual(["ask_2"]);
});

test("whichever went another way falls out, and says of how many", () => {
  const batch = { members: ["ask_1", "ask_2", "ask_3"], yes: true };
  const denied: AskView = { ...two, state: "delivered", answer: { answer: "deny", by: BOB, surface: "cli", at } };
  const expired: AskView = { ...three, state: "expired" };
  const rows = rowsOf([allowed(one), denied, expired], [batch], NONE);
  expect(rows.map((row) => [row.lead.id, row.fellOutOf])).toEqual([
    ["ask_1", undefined],
    ["ask_2", 3],
    ["ask_3", 3],
  ]);
});

test("one that comes after the answer is not counted among those that were answered", () => {
  const batch = { members: ["ask_1", "ask_2"], yes: true };
  expect(ids([allowed(one), allowed(two), three], [batch])).toEqual([["ask_1", "ask_2"], ["ask_3"]]);
});

test("one answer to many makes a batch of those that are alike, and of no others", () => {
  expect(batchesOf([one, other, two], false)).toEqual([{ members: ["ask_1", "ask_2"], yes: false }]);
});

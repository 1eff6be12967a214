import { expect, test } from "vitest";
import type { AskView } from "../api/types.ts";
import { planOf } from "./batch.ts";
import { EMPTY, withAsks } from "./ledger.ts";
import { sampleAsk, sampleWrite } from "./samples.ts";

const one = sampleAsk({ id: "ask_1" });
const question: AskView = { ...one, id: "ask_2", session: "session_2", subject: { kind: "question", questions: [] } };
const write = { ...sampleWrite(), id: "ask_3", session: "session_3" };
const barred = { ...one, id: "ask_4", session: "session_4", may_answer: false };
const over: AskView = { ...one, id: "ask_5", session: "session_5", state: "expired" };
const ambiguous: AskView = {
  ...one,
  id: "ask_6",
  session: "session_6",
  door: "acp",
  options: ["a", "b"].map((id) => ({ id, name: id, kind: "allow_once" })),
};
const sibling = { ...one, id: "ask_7" };
const ledger = withAsks(EMPTY, [one, question, write, barred, over, ambiguous, sibling]);
const picked = new Set(["ask_1", "ask_2", "ask_3", "ask_4", "ask_5", "ask_6", "ask_unknown"]);

test("what a yes cannot be said to is left, with why", () => {
  const plan = planOf(ledger, picked, "allow");
  expect(plan.answered.map((ask) => ask.id)).toEqual(["ask_1", "ask_3"]);
  expect(plan.left.map(({ ask, why }) => [ask.id, why])).toEqual([
    ["ask_2", "question"],
    ["ask_4", "grant"],
    ["ask_5", "over"],
    ["ask_6", "options"],
  ]);
  expect(plan.fall, "nothing falls with a yes").toBe(0);
});

test("a no can be said to a question, and takes the others of its session along", () => {
  const plan = planOf(ledger, picked, "deny");
  expect(plan.answered.map((ask) => ask.id)).toEqual(["ask_1", "ask_2", "ask_3", "ask_6"]);
  expect(plan.fall).toBe(1);
  expect(planOf(ledger, new Set([...picked, "ask_7"]), "deny").fall, "one that is picked as well is denied itself").toBe(0);
});

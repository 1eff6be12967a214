import { expect, test } from "vitest";
import type { Rule } from "../api/types.ts";
import { ADA, sampleAsk, sampleWrite } from "./samples.ts";
import { whyAsked } from "./why.ts";

const ask = sampleAsk({ opened_at: "2026-11-15T18:00:00.000000Z" });
const rule: Rule = {
  id: "rule_1",
  workspace: "ws_1",
  tool: "bash",
  verdict: "allow",
  match: "exact",
  targets: ["git log"],
  made_by: ADA,
  made_at: "2026-11-14T18:00:00.000000Z",
};

test("each rule for the tool says what it lacked, the nearest first", () => {
  const why = whyAsked(ask, [
    { ...rule, id: "rule_2", workspace: "ws_2" },
    { ...rule, id: "rule_3", revoked_at: "2026-11-15T17:00:00.000000Z" },
    { ...rule, id: "rule_4", expires_at: "2026-11-15T17:00:00.000000Z" },
    { ...rule, id: "rule_5", made_at: "2026-11-15T19:00:00.000000Z" },
    { ...rule, id: "rule_6", session: "session_2" },
    rule,
    { ...rule, id: "rule_7", tool: "edit" },
  ]);
  expect(why.kind === "no match" && why.misses.map(({ rule: { id }, miss }) => [id, miss])).toEqual([
    ["rule_1", "targets"],
    ["rule_6", "session"],
    ["rule_5", "later"],
    ["rule_4", "expired"],
    ["rule_3", "revoked"],
    ["rule_2", "workspace"],
  ]);
});

test("a rule that ended after the ask was in force when it was asked", () => {
  const why = whyAsked(ask, [{ ...rule, revoked_at: "2026-11-15T18:30:00.000000Z", expires_at: "2026-11-15T18:20:00.000000Z" }]);
  expect(why).toMatchObject({ kind: "no match", misses: [{ miss: "targets" }] });
});

test("where no rule could answer, that is why", () => {
  expect(whyAsked(ask, [])).toEqual({ kind: "no rule" });
  expect(whyAsked(sampleWrite(), [rule])).toEqual({ kind: "write" });
  expect(whyAsked({ ...ask, subject: { kind: "question", questions: [] } }, [rule])).toEqual({ kind: "question" });
  expect(whyAsked({ ...ask, subject: { kind: "permission", tool: "bash", targets: [], shown: [] } }, [rule])).toEqual({ kind: "no target" });
});

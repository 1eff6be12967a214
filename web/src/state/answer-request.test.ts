import { expect, test } from "vitest";
import type { OfferedOption, PermissionSubject, Question } from "../api/types.ts";
import { sampleAsk } from "./samples.ts";
import {
  allowAlways,
  allowOnce,
  canAllow,
  canDeny,
  choices,
  numbered,
  deny,
  onlyOption,
  ownOptions,
  suggestedPattern,
  takesPattern,
  tone,
} from "./answer-request.ts";

const question = (multiple: boolean): Question => ({
  header: "Store",
  question: "Which database?",
  options: [
    { label: "sqlite", description: "" },
    { label: "postgres", description: "" },
  ],
  multiple,
});

test("an answer carries the fields that go with it and no other", () => {
  expect(allowOnce()).toEqual({ answer: "allow_once" });
  expect(allowAlways("session", "exactly", 3600)).toEqual({ answer: "allow_always", scope: "session", expires_in_s: 3600 });
  expect(allowAlways("session", { like: "src/**" }, undefined)).toEqual({
    answer: "allow_always",
    scope: "session",
    pattern: "src/**",
  });
  expect(Object.keys(allowAlways("workspace", "exactly", undefined))).toEqual(["answer", "scope"]);
  expect(deny("  not on a Friday\n")).toEqual({ answer: "deny", reason: "not on a Friday" });
  expect(Object.keys(deny(" \n"))).toEqual(["answer"]);
});

test("each part of a question needs an answer", () => {
  const filled = [{ chosen: ["sqlite"], text: "" }, { chosen: [], text: "  " }];
  expect(choices([question(false), question(false)], filled)).toEqual({ missing: [2] });
  expect(choices([question(false)], [])).toEqual({ missing: [1] });
});

test("own words go before the one choice", () => {
  expect(choices([question(false)], [{ chosen: ["sqlite"], text: " duckdb " }])).toEqual({
    request: { answer: "choices", choices: [["duckdb"]] },
  });
});

test("own words go beside several choices, which keep the order they were offered in", () => {
  expect(choices([question(true)], [{ chosen: ["postgres", "sqlite"], text: "duckdb" }])).toEqual({
    request: { answer: "choices", choices: [["sqlite", "postgres", "duckdb"]] },
  });
});

test("what was not offered is not sent as a choice", () => {
  expect(choices([question(true)], [{ chosen: ["oracle"], text: "" }])).toEqual({ missing: [1] });
});

const option = (id: string, kind: OfferedOption["kind"]): OfferedOption => ({ id, name: id, kind });

test("the plain buttons stand for the one option of their kind, and every other option has its own", () => {
  const once = option("proceed_once", "allow_once");
  const always = option("proceed_always", "allow_always");
  const no = option("cancel", "deny");
  const ask = sampleAsk({ door: "acp", options: [always, once, no] });
  expect(onlyOption(ask, "allow_once")).toEqual(once);
  expect(onlyOption(ask, "deny")).toEqual(no);
  expect(ownOptions(ask)).toEqual([always]);
  expect([tone(once), tone(always), tone(no)]).toEqual(["primary", "lasting", "danger"]);
});

test("of two options alike a person picks one: no plain button stands for either", () => {
  const twins = [option("yes", "allow_once"), option("yes_and_switch", "allow_once"), option("no", "deny")];
  const ask = sampleAsk({ door: "acp", options: twins });
  expect(canAllow(ask)).toBe(false);
  expect(canDeny(ask)).toBe(true);
  expect(ownOptions(ask)).toEqual(twins.slice(0, 2));
  expect(canDeny(sampleAsk({ door: "acp", options: [option("a", "deny"), option("b", "deny")] }))).toBe(false);
});

test("opencode's options are the same for every ask and have no buttons of their own", () => {
  const ask = sampleAsk({ options: [option("once", "allow_once"), option("always", "allow_always")] });
  expect(canAllow(ask)).toBe(true);
  expect(ownOptions(ask)).toEqual([]);
});

test("a pattern is never offered for a command", () => {
  const subject = (tool: string, shown: PermissionSubject["shown"]): PermissionSubject => ({
    kind: "permission",
    tool,
    targets: ["it"],
    shown,
  });
  expect(takesPattern(subject("edit", []))).toBe(true);
  expect(takesPattern(subject("bash", []))).toBe(false);
  expect(takesPattern(subject("anything", [{ kind: "command", text: "it" }]))).toBe(false);
});

test("the suggested pattern is the folder of what is asked, and nothing wider", () => {
  expect(suggestedPattern({ targets: ["src/deep/a.rs"] })).toBe("src/deep/**");
  expect(suggestedPattern({ targets: ["src/a.rs", "src/b.rs"] })).toBe("src/**");
  expect(suggestedPattern({ targets: ["/a.rs"] })).toBe("/**");
  expect(suggestedPattern({ targets: ["a.rs"] })).toBe("a.rs");
  expect(suggestedPattern({ targets: ["src/a.rs", "b.rs"] })).toBe("");
  expect(suggestedPattern({ targets: ["[slug]/page.tsx"] })).toBe("\\[slug\\]/**");
  const file = { kind: "inside" as const, path: "src/a.rs" };
  const location = { folder: { kind: "session" as const }, files: [{ named: "/srv/proj/src/a.rs", file }], root: "/srv/proj" };
  expect(suggestedPattern({ targets: ["srv/proj/src/a.rs"], location }), "opencode names files from elsewhere").toBe("src/**");
});

test("a number takes a suggestion of the first part that has no answer", () => {
  const parts = [question(false), question(false)];
  const empty = parts.map(() => ({ chosen: [], text: "" }));
  const first = numbered(parts, empty, 2);
  expect(first.map((part) => part.chosen)).toEqual([["postgres"], []]);
  const both = numbered(parts, first, 1);
  expect(both.map((part) => part.chosen)).toEqual([["postgres"], ["sqlite"]]);
  expect(numbered(parts, both, 2).map((part) => part.chosen)).toEqual([["postgres"], ["postgres"]]);
});

test("a number that no suggestion has changes nothing", () => {
  const empty = [{ chosen: [], text: "" }];
  expect(numbered([question(false)], empty, 9)).toBe(empty);
});

test("a number takes a suggestion and lets go of it where several may be chosen", () => {
  const one = numbered([question(true)], [{ chosen: [], text: "" }], 1);
  expect(one[0]?.chosen).toEqual(["sqlite"]);
  expect(numbered([question(true)], one, 2)[0]?.chosen).toEqual(["sqlite", "postgres"]);
  expect(numbered([question(true)], one, 1)[0]?.chosen).toEqual([]);
});

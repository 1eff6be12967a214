import { expect, test } from "vitest";
import type { Question } from "../api/types.ts";
import { allowAlways, allowOnce, choices, deny } from "./answer-request.ts";

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
  expect(allowAlways("session", 3600)).toEqual({ answer: "allow_always", scope: "session", expires_in_s: 3600 });
  expect(Object.keys(allowAlways("workspace", undefined))).toEqual(["answer", "scope"]);
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

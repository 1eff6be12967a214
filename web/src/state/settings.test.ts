import { expect, test } from "vitest";
import type { SettingsView } from "../api/types.ts";
import { sameParts } from "./settings.ts";

const view = (): SettingsView => ({
  session: "session_1",
  mode: { current: "ask", choices: [{ id: "ask", name: "Ask" }] },
  options: [{ id: "fast", name: "Fast", type: "boolean", on: true }],
  commands: [],
  chosen: [],
  may_set: true,
});

test("what did not change stays the very same, and what did is new", () => {
  const known = view();
  const usage = { used: 2, size: 3 };
  const read = sameParts(known, { ...view(), options: [], usage });
  expect(read.mode).toBe(known.mode);
  expect(read.commands).toBe(known.commands);
  expect(read.options).toEqual([]);
  expect(read.usage).toEqual(usage);
  expect("model" in read).toBe(false);
});

test("a mode that is gone does not stay", () => {
  const { mode: _, ...rest } = view();
  expect(sameParts(view(), rest).mode).toBeUndefined();
  expect(sameParts(undefined, view())).toEqual(view());
});

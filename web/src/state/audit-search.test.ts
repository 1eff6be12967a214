import { expect, test } from "vitest";
import { ANYTHING, searchOf } from "./audit-search.ts";

test("fields that are empty, or hold spaces, are not asked for", () => {
  expect(searchOf({ ...ANYTHING, chain: "ws_1", text: "  ", actor: " Ada " })).toEqual({
    workspace: "ws_1",
    actor: "Ada",
    text: undefined,
    action: undefined,
    since: undefined,
    until: undefined,
  });
});

test("the last day counts to its end, where this browser is", () => {
  const { since, until } = searchOf({ ...ANYTHING, from: "2026-11-17", to: "2026-11-17" });
  expect(since).toBe(new Date("2026-11-17T00:00:00").toISOString());
  expect(until).toBe(new Date("2026-11-18T00:00:00").toISOString());
});

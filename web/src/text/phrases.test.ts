import { expect, test } from "vitest";
import type { Answer, Me } from "../api/types.ts";
import { ADA, sampleAsk } from "../state/samples.ts";
import { giverOf, plural, reasonHint, standingOf } from "./phrases.ts";

const me: Me = { actor: ADA, grants: ["read", "answer"], surface: "web" };
const at = "2026-11-15T18:44:00.000000Z";
const bob: Answer = { answer: "deny", by: { id: "actor_bob", kind: "person", name: "Bob" }, surface: "cli", at };
const mine: Answer = { answer: "allow_once", by: ADA, surface: "web", at };

test("who answered is told from where I stand", () => {
  expect(giverOf(mine, me)).toBe("you");
  expect(giverOf({ ...mine, surface: "cli" }, me)).toBe("you, in a terminal");
  expect(giverOf(bob, me)).toBe("Bob, in a terminal");
});

test("an ask that ran out is never told as denied", () => {
  expect(standingOf(sampleAsk({ state: "expired", why: "nobody answered in time" }), me)).toBe(
    "Expired: nobody answered in time",
  );
});

test("delivered is said only when it is", () => {
  expect(standingOf(sampleAsk({ state: "answered", answer: mine }), me)).toBe("Allowed once by you, on its way");
  expect(standingOf(sampleAsk({ state: "delivered", answer: mine }), me)).toBe("Allowed once by you, delivered");
  expect(standingOf(sampleAsk({ state: "undeliverable", answer: bob, why: "the engine is gone" }), me)).toBe(
    "Denied by Bob, in a terminal; not delivered: the engine is gone",
  );
});

test("one is not many", () => {
  expect(plural(1, "ask")).toBe("1 ask");
  expect(plural(2, "ask")).toBe("2 asks");
});

test("a reason that the agent will not read is not promised to it", () => {
  expect(reasonHint("acp", "denying").label).toBe("Reason for denying; the agent reads it");
  expect(reasonHint("acp_proxy", "denying").label).toContain("the agent does not read it");
});

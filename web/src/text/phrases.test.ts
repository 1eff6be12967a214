import { expect, test } from "vitest";
import type { Answer, Me } from "../api/types.ts";
import { ADA, sampleAsk, sampleWrite } from "../state/samples.ts";
import { clientOf, deliveryLine, evidenceOf, giverOf, obstacleOf, plural, reasonHint, standingOf } from "./phrases.ts";
import { wantOf } from "./wants.ts";

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

test("a write is told as written or not, and by whom it was proposed", () => {
  const write = sampleWrite();
  expect(wantOf(write)).toBe("proposes a write, plugins.add");
  expect(standingOf({ ...write, state: "answered", answer: mine }, me)).toBe("Allowed once by you, being written");
  expect(standingOf({ ...write, state: "delivered", answer: mine }, me)).toBe("Allowed once by you, written");
  expect(standingOf({ ...write, state: "delivered", answer: bob }, me)).toBe("Denied by Bob, in a terminal, nothing written");
  expect(standingOf({ ...write, state: "undeliverable", answer: mine, why: "it could not be written: full" }, me)).toBe(
    "Allowed once by you; not written: it could not be written: full",
  );
  expect(evidenceOf({ kind: "done" })).toBe("it was done");
  expect(evidenceOf({ kind: "files_written", digest: "d2" })).toBe("the files were written, SHA-256 d2");
  expect(evidenceOf({ kind: "files_found", digest: "d2" })).toBe("the files were found as they were to be, SHA-256 d2");
  expect(reasonHint("workspace", "denying").label).toContain("the client does not read it");
});

test("a client is called as it calls itself, if it does", () => {
  const { subject } = sampleWrite();
  if (subject.kind !== "workspace_write") throw new Error("the sample is a write");
  expect(clientOf(subject)).toBe("phone");
  expect(clientOf({ ...subject, wire_actor: { type: "remote" } })).toBeUndefined();
  expect(clientOf({ ...subject, wire_actor: null })).toBeUndefined();
});

test("who cannot answer a write is told what is in the way", () => {
  expect(obstacleOf(sampleAsk(), me)).toBe("answer");
  expect(obstacleOf(sampleWrite(), me)).toBe("approve");
  expect(obstacleOf(sampleWrite(ADA), me)).toBe("own");
});

test("a delivery is told with how long it took", () => {
  const asked = sampleAsk({ opened_at: "2026-11-15T18:43:00.000000Z", state: "delivered", answer: mine });
  const arrived = "2026-11-15T18:44:02.000000Z";
  const delivery = { state: "delivered", attempts: 1, at: arrived, evidence: { kind: "announced", event: "permission.replied" } } as const;
  expect(deliveryLine({ ...asked, delivery })).toBe("answered after 1 min 00 s, delivered 2 s later");
  expect(deliveryLine({ ...asked, delivery: { ...delivery, at } })).toBe("answered after 1 min 00 s, delivered within a second");
  expect(deliveryLine({ ...asked, state: "answered" })).toBe("answered after 1 min 00 s");
  expect(deliveryLine(sampleAsk({ state: "expired" }))).toBeUndefined();
});

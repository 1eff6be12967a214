import { expect, test } from "vitest";
import { asTree, familyOf } from "./family.ts";
import { sampleSession } from "./samples.ts";

const known = [
  sampleSession({ id: "session_c", parent: "session_b", started_at: "2026-11-15T18:45:00Z" }),
  sampleSession({ id: "session_a", started_at: "2026-11-15T18:43:00Z" }),
  sampleSession({ id: "session_d", parent: "session_a", started_at: "2026-11-15T18:46:00Z" }),
  sampleSession({ id: "session_b", parent: "session_a", started_at: "2026-11-15T18:44:00Z" }),
  sampleSession({ id: "session_x", parent: "session_unknown" }),
];
const sessions = Object.fromEntries(known.map((session) => [session.id, session]));

test("a family is the same whoever of it is asked for", () => {
  for (const id of ["session_a", "session_b", "session_c", "session_d"]) {
    const family = familyOf(sessions, id);
    expect(family?.session.id).toBe("session_a");
    expect(family?.children.map((child) => child.session.id)).toEqual(["session_b", "session_d"]);
    expect(family?.children[0]?.children.map((child) => child.session.id)).toEqual(["session_c"]);
  }
  expect(familyOf(sessions, "session_x")?.session.id).toBe("session_x");
  expect(familyOf(sessions, "session_y")).toBeUndefined();
});

test("a list has every session once, those that were started below the one that did", () => {
  expect(asTree(known).map(({ session, depth }) => [session.id, depth])).toEqual([
    ["session_a", 0],
    ["session_b", 1],
    ["session_c", 2],
    ["session_d", 1],
    ["session_x", 0],
  ]);
});

test("sessions that name each other as their parents hold nobody up", () => {
  const loop = [sampleSession({ id: "session_1", parent: "session_2" }), sampleSession({ id: "session_2", parent: "session_1" })];
  expect(familyOf(Object.fromEntries(loop.map((session) => [session.id, session])), "session_1")).toBeDefined();
  expect(asTree(loop).map(({ session }) => session.id)).toEqual(["session_1", "session_2"]);
});

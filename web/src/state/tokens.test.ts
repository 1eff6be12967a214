import { expect, test } from "vitest";
import type { Token } from "../api/types.ts";
import { tokensOf } from "./tokens.ts";

const NOW = Date.parse("2026-11-17T12:00:00Z");

function token(id: string, more: Partial<Token>): Token {
  return {
    id,
    name: "Ada",
    kind: "browser",
    actor: { id: "actor_1", kind: "person", name: "Ada" },
    grants: ["read"],
    made_at: "2026-11-01T00:00:00Z",
    ...more,
  };
}

test("browsers are apart from programs, and what is over from what is not", () => {
  const tokens = [
    token("early", { seen_at: "2026-11-02T00:00:00Z" }),
    token("program", { kind: "bearer" }),
    token("late", { seen_at: "2026-11-17T11:00:00Z", expires_at: "2026-12-01T00:00:00Z" }),
    token("never", {}),
    token("out", { revoked_at: "2026-11-17T11:59:00Z" }),
    token("old", { expires_at: "2026-11-17T12:00:00Z" }),
  ];
  const { valid, past } = tokensOf(tokens, "browser", NOW);
  expect(valid.map(({ id }) => id)).toEqual(["late", "early", "never"]);
  expect(past.map(({ id }) => id).toSorted()).toEqual(["old", "out"]);
  expect(tokensOf(tokens, "bearer", NOW).valid.map(({ id }) => id)).toEqual(["program"]);
});

import { expect, test } from "vitest";
import { ROLE_GRANTS, roleOf, ROLES } from "./roles.ts";

test("a role is known by its grants, in whichever order", () => {
  for (const role of ROLES) expect(roleOf(ROLE_GRANTS[role].toReversed())).toBe(role);
});

test("other grants are no role", () => {
  expect(roleOf([])).toBeUndefined();
  expect(roleOf(["read", "ask"])).toBeUndefined();
  expect(roleOf(["read", "prompt"])).toBeUndefined();
});

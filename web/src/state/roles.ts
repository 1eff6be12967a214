/* Roles as sets of grants: which one a token has, for tokens carry their grants alone. Pure. */
import type { Grant, Role } from "../api/types.ts";

export const ROLE_GRANTS: Readonly<Record<Role, readonly Grant[]>> = {
  viewer: ["read"],
  collaborator: ["read", "prompt", "propose", "answer"],
  approver: ["read", "answer", "approve"],
  owner: ["read", "prompt", "propose", "answer", "approve", "administer"],
  agent: ["ask"],
};

export const ROLES = Object.keys(ROLE_GRANTS) as readonly Role[];
/** Those that a person at a browser can have. */
export const PEOPLES_ROLES = ROLES.filter((role) => role !== "agent");

/** The role that is exactly these grants, if there is one. */
export function roleOf(grants: readonly Grant[]): Role | undefined {
  return ROLES.find((role) => ROLE_GRANTS[role].length === grants.length && ROLE_GRANTS[role].every((grant) => grants.includes(grant)));
}

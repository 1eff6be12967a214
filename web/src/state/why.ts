/*
 * Why an ask came to a person: which rules there are for its tool, and what each of them lacked. Pure.
 *
 * That none matched is what the ledger says, for it would have answered; so a rule that was in force, for the tool and
 * for the session, can only have been about something else.
 */
import type { AskView, Rule } from "../api/types.ts";

/** What a rule lacked to answer an ask. */
export type Miss = "revoked" | "expired" | "later" | "workspace" | "session" | "targets";

export type Why =
  | { kind: "question" | "write" | "no target" | "no rule" }
  | { kind: "no match"; misses: { rule: Rule; miss: Miss }[] };

/** From the nearest miss to the farthest. */
const NEARNESS: readonly Miss[] = ["targets", "session", "later", "expired", "revoked", "workspace"];

export function whyAsked(ask: AskView, rules: readonly Rule[]): Why {
  const { subject } = ask;
  if (subject.kind === "question") return { kind: "question" };
  if (subject.kind === "workspace_write") return { kind: "write" };
  if (subject.targets.length === 0) return { kind: "no target" };
  const misses = rules
    .filter((rule) => rule.tool === subject.tool)
    .map((rule) => ({ rule, miss: missOf(rule, ask) }))
    .toSorted((a, b) => NEARNESS.indexOf(a.miss) - NEARNESS.indexOf(b.miss));
  return misses.length === 0 ? { kind: "no rule" } : { kind: "no match", misses };
}

function missOf(rule: Rule, ask: AskView): Miss {
  if (rule.workspace !== ask.workspace) return "workspace";
  if (rule.revoked_at !== undefined && rule.revoked_at <= ask.opened_at) return "revoked";
  if (rule.expires_at !== undefined && rule.expires_at <= ask.opened_at) return "expired";
  if (rule.made_at > ask.opened_at) return "later";
  return rule.session !== undefined && rule.session !== ask.session ? "session" : "targets";
}

/* What one answer to everything that was picked would do, before it is given. Pure. */
import type { AskView } from "../api/types.ts";
import { canAllow, canDeny } from "./answer-request.ts";
import { siblingsOf, type Ledger } from "./ledger.ts";

export type Verdict = "allow" | "deny";

/** Why an ask would be left as it is. */
export type Left = "question" | "grant" | "options" | "over";

export interface Plan {
  answered: AskView[];
  left: { ask: AskView; why: Left }[];
  /** How many asks that were not picked fall with a denial. */
  fall: number;
}

export function planOf(ledger: Ledger, picked: ReadonlySet<string>, verdict: Verdict): Plan {
  const asks = [...picked].flatMap((id) => ledger.asks[id] ?? []).toSorted((a, b) => a.opened_at.localeCompare(b.opened_at));
  const plan: Plan = { answered: [], left: [], fall: 0 };
  for (const ask of asks) {
    const why = obstacleTo(ask, verdict);
    if (why === undefined) plan.answered.push(ask);
    else plan.left.push({ ask, why });
  }
  if (verdict === "deny") {
    const denied = new Set(plan.answered.map((ask) => ask.id));
    const fallen = plan.answered.flatMap((ask) => siblingsOf(ledger, ask)).filter((id) => !denied.has(id));
    plan.fall = new Set(fallen).size;
  }
  return plan;
}

function obstacleTo(ask: AskView, verdict: Verdict): Left | undefined {
  if (ask.state !== "open") return "over";
  if (!ask.may_answer) return "grant";
  if (verdict === "deny") return canDeny(ask) ? undefined : "options";
  if (ask.subject.kind === "question") return "question";
  return canAllow(ask) ? undefined : "options";
}

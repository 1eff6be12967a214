/* What is looked for in the audit, from what stands in the fields to what the server is asked. Pure. */
import type { AuditSearch } from "../api/client.ts";

/** What is filled in, as it stands in the fields. */
export interface AuditWish {
  chain: string | undefined;
  text: string;
  actor: string;
  deed: string;
  from: string;
  to: string;
}

export const ANYTHING: AuditWish = { chain: undefined, text: "", actor: "", deed: "", from: "", to: "" };

/** What is asked of the server. Days are those of this browser; the last one counts to its end. */
export function searchOf(wish: AuditWish): AuditSearch {
  const filled = (text: string) => (text.trim() === "" ? undefined : text.trim());
  const midnight = (day: string, later: number) => {
    if (day === "") return undefined;
    const at = new Date(`${day}T00:00:00`);
    at.setDate(at.getDate() + later);
    return at.toISOString();
  };
  return {
    workspace: wish.chain,
    text: filled(wish.text),
    actor: filled(wish.actor),
    action: filled(wish.deed),
    since: midnight(wish.from, 0),
    until: midnight(wish.to, 1),
  };
}

/* How an entry of the audit is put into words. Pure. */
import { words } from "./words.ts";

/** Who did it: an actor is recorded with its kind and its id, and we with our name. */
export function doerOf(actor: string): { name: string; kind?: string } {
  const known = /^(person|rule|agent|bridge) (.+) \((actor_\w+)\)$/s.exec(actor);
  if (known !== null) return { kind: known[1] ?? "", name: known[2] ?? "" };
  if (/^agent in session_\w+/.test(actor)) return { kind: "agent", name: words.audit.agent };
  return { name: actor === "countersign" ? words.audit.self : actor };
}

/** What was done, in words where there are some. */
export function deedOf(action: string): string {
  return words.audit.deeds[action] ?? action;
}

/** Where what it was done to can be seen, if it can. */
export function placeOfSubject(subject: string): string | undefined {
  if (/^ask_\w+$/.test(subject)) return `#/history/${subject}`;
  if (/^session_\w+$/.test(subject)) return `#/sessions/${subject}`;
  return undefined;
}

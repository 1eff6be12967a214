/* Which asks of a list somebody wants to see. Pure. */
import type { AskView } from "../api/types.ts";
import { kindOf } from "../text/phrases.ts";
import { visible } from "../text/visible.ts";
import type { Ledger } from "./ledger.ts";

/** What an ask can be chosen by. */
export const FACETS = ["workspace", "engine", "tool", "session"] as const;
export type Facet = (typeof FACETS)[number];

export type Filter = Readonly<Partial<Record<Facet, string>> & { search: string }>;

export const EVERYTHING: Filter = { search: "" };

export const isEverything = (filter: Filter): boolean =>
  filter.search.trim() === "" && FACETS.every((facet) => filter[facet] === undefined);

/** What an ask is, by a facet. */
export function facetOf(ask: AskView, facet: Facet, ledger: Ledger): string {
  switch (facet) {
    case "workspace":
      return ask.workspace;
    case "engine":
      return ledger.sessions[ask.session]?.engine ?? ask.door;
    case "tool":
      return kindOf(ask);
    case "session":
      return ask.session;
  }
}

/** What a facet's value is called. */
export function nameOf(value: string, facet: Facet, ledger: Ledger): string {
  switch (facet) {
    case "workspace":
      return ledger.workspaces.find((workspace) => workspace.id === value)?.name ?? value;
    case "session":
      return visible(ledger.sessions[value]?.title || value);
    case "engine":
    case "tool":
      return visible(value);
  }
}

/** Whether an ask is among those that are wanted: of every facet that was chosen, and with every word in it. */
export function passes(ask: AskView, filter: Filter, ledger: Ledger): boolean {
  if (!FACETS.every((facet) => filter[facet] === undefined || filter[facet] === facetOf(ask, facet, ledger))) return false;
  const words = filter.search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const text = searchable(ask, ledger);
  return words.every((word) => text.includes(word));
}

function searchable(ask: AskView, ledger: Ledger): string {
  const targets = ask.subject.kind === "permission" ? ask.subject.targets : [];
  const session = ledger.sessions[ask.session];
  return [ask.summary, ...targets, ask.requester, kindOf(ask), ask.directory, session?.title, session?.engine, nameOf(ask.workspace, "workspace", ledger), ask.id]
    .join("\n")
    .toLowerCase();
}

export interface Offer {
  value: string;
  name: string;
  count: number;
}

/** The values of a facet that the asks have, by name, with how many asks have each. */
export function offersOf(asks: readonly AskView[], facet: Facet, ledger: Ledger): Offer[] {
  const counts = new Map<string, number>();
  for (const ask of asks) {
    const value = facetOf(ask, facet, ledger);
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts]
    .map(([value, count]) => ({ value, count, name: nameOf(value, facet, ledger) }))
    .toSorted((a, b) => a.name.localeCompare(b.name));
}

/*
 * Asks that are alike, together: the same tool, arguments and directory, whichever session asks. One answer is given to
 * all of them, and each is delivered by itself. Pure.
 *
 * What goes another way than its group falls out of it and stands alone, where it says so.
 */
import type { AskView } from "../api/types.ts";
import { isYes } from "../text/phrases.ts";
import { canAllow, canDeny } from "./answer-request.ts";

/** One answer from this page to several asks that are alike. */
export interface Batch {
  members: readonly string[];
  /** Whether the answer was a yes. */
  yes: boolean;
}

/** What stands in one place of a list: an ask, or several that are alike. */
export interface Row {
  lead: AskView;
  /** All of them, the one that waits longest first. */
  members: readonly AskView[];
  /** How many the group has that the only member fell out of. */
  fellOutOf?: number;
}

/** The asks in rows, in the order in which the first of each was asked. `apart` are those that somebody wants to answer alone. */
export function rowsOf(asks: readonly AskView[], batches: readonly Batch[], apart: ReadonlySet<string>): Row[] {
  const rows = new Map<string, AskView[]>();
  const fallen = new Map<string, number>();
  for (const ask of asks) {
    const batch = batches.findLastIndex((each) => each.members.includes(ask.id));
    const own = batches[batch];
    let key = ask.id;
    if (own !== undefined && !dissents(ask, own)) key = `batch ${batch}`;
    else if (own !== undefined) fallen.set(ask.id, own.members.length);
    else if (isGroupable(ask) && !apart.has(ask.id)) key = `like ${likeKey(ask)}`;
    rows.set(key, [...(rows.get(key) ?? []), ask]);
  }
  return [...rows.values()].flatMap((members) => {
    const [lead] = members;
    if (lead === undefined) return [];
    const size = fallen.get(lead.id);
    return [size === undefined ? { lead, members } : { lead, members, fellOutOf: size }];
  });
}

/** Whether an ask went another way than the answer that its group was given. */
function dissents(ask: AskView, batch: Batch): boolean {
  if (ask.state === "open") return false;
  return ask.answer === undefined || isYes(ask.answer) !== batch.yes;
}

/** A question is answered by what was asked of whom, and a write stands by itself; those are nobody's like. */
function isGroupable(ask: AskView): boolean {
  return ask.state === "open" && ask.subject.kind === "permission";
}

/** Alike, and to be answered alike: agents may offer other options for the same, and one may be out of reach. */
function likeKey(ask: AskView): string {
  return [ask.workspace, ask.likeness, ask.may_answer, canAllow(ask), canDeny(ask)].join(" ");
}

/** The ids of a row's asks that can still be answered. */
export function openIn(row: Row): string[] {
  return row.members.filter((ask) => ask.state === "open" && ask.may_answer).map((ask) => ask.id);
}

/** The batches that one answer to these makes: of those that are alike, and there are several of. */
export function batchesOf(asks: readonly AskView[], yes: boolean): Batch[] {
  return rowsOf(asks, [], new Set())
    .filter((row) => row.members.length > 1)
    .map((row) => ({ members: row.members.map((ask) => ask.id), yes }));
}

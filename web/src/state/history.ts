/*
 * What was settled, page by page as somebody reads back. Pages go into the ledger that the whole page shows, so that what
 * happens to an ask meanwhile is seen here too.
 */
import { createSignal } from "solid-js";
import { readAsks, sentenceOf } from "../api/client.ts";
import type { AskView, Phase } from "../api/types.ts";
import { EVERYTHING, passes, type Filter } from "./filtering.ts";
import { settledAsks, type Ledger } from "./ledger.ts";
import { learnAsks, ledger } from "./live.ts";

export const ENDINGS = ["answered", "delivered", "undeliverable", "expired", "withdrawn"] as const satisfies readonly Phase[];
export type Ending = (typeof ENDINGS)[number];

/** What is wanted of the history. */
export interface Wish {
  filter: Filter;
  ending?: Ending | undefined;
}

const PAGE = 50;
/** How many pages are read at once to find what is wanted; then somebody has to want more. */
const PAGES = 6;

/** How far was read: down to this ask, or to the beginning. */
export type Depth = { down: "nowhere" } | { down: "to"; ask: string } | { down: "beginning" };

/** The settled asks that were read and are wanted, newest first. Pure. */
export function settledSoFar(known: Ledger, wish: Wish, depth: Depth): AskView[] {
  if (depth.down === "nowhere") return [];
  return settledAsks(known).filter(
    (ask) =>
      // Ids sort by the time of their making.
      (depth.down === "beginning" || ask.id >= depth.ask) &&
      (wish.ending === undefined || ask.state === wish.ending) &&
      passes(ask, wish.filter, known),
  );
}

const [wish, setWish] = createSignal<Wish>({ filter: EVERYTHING });
const [depth, setDepth] = createSignal<Depth>({ down: "nowhere" });
const [isReading, setReading] = createSignal(false);
const [problem, setProblem] = createSignal<string>();
let reading = 0;

export { depth, isReading, problem, wish };

export const settled = (): AskView[] => settledSoFar(ledger(), wish(), depth());

/** Wants something else: it is read from the newest on. */
export function want(next: Wish): void {
  const isNarrower =
    next.ending === wish().ending && next.filter.workspace === wish().filter.workspace && next.filter.session === wish().filter.session;
  setWish(next);
  // What the server does not choose by is chosen of what was read; more is read if that is little.
  if (!isNarrower) setDepth({ down: "nowhere" });
  if (!isNarrower || settled().length < PAGE) void readMore();
}

/** Reads on until there is a page more of what is wanted, or for as long as it is sensible. */
export async function readMore(): Promise<void> {
  reading += 1;
  const own = reading;
  setReading(true);
  setProblem(undefined);
  try {
    const enough = settled().length + PAGE;
    for (let page = 0; page < PAGES; page += 1) {
      const from = depth();
      if (from.down === "beginning" || settled().length >= enough) break;
      const { filter, ending } = wish();
      const read = await readAsks({
        limit: PAGE,
        ...(ending === undefined ? {} : { state: ending }),
        ...(filter.workspace === undefined ? {} : { workspace: filter.workspace }),
        ...(filter.session === undefined ? {} : { session: filter.session }),
        ...(from.down === "to" ? { before: from.ask } : {}),
      });
      if (own !== reading) return;
      learnAsks(read.asks);
      setDepth(read.next === undefined ? { down: "beginning" } : { down: "to", ask: read.next });
    }
  } catch (error) {
    if (own === reading) setProblem(sentenceOf(error));
  } finally {
    if (own === reading) setReading(false);
  }
}

/* What the workspaces hold, as far as somebody looks at them: read when it is wanted, and again when it was written. */
import { createEffect, createMemo, createSignal, on, onCleanup, type Accessor } from "solid-js";
import { readHoldings, sentenceOf } from "../api/client.ts";
import type { Holdings } from "../api/types.ts";
import { ledger } from "./live.ts";

export interface Held {
  holdings: Accessor<Holdings | undefined>;
  problem: Accessor<string | undefined>;
  /** Reads it again. */
  refresh: () => void;
}

/** What the workspace `id` holds, kept up to date while it is shown. */
export function createHoldings(of: Accessor<string>): Held {
  // What is told anew of the same workspace takes nothing away from whoever is writing there.
  const id = createMemo(of);
  const [holdings, setHoldings] = createSignal<Holdings>();
  const [problem, setProblem] = createSignal<string>();
  const [wish, setWish] = createSignal(0);
  const written = createMemo(() => ledger().written[id()]);
  createEffect(on(id, () => setHoldings(undefined), { defer: true }));
  createEffect(
    on([id, written, wish], ([workspace]) => {
      let isOld = false;
      onCleanup(() => (isOld = true));
      const look = async () => {
        try {
          const read = await readHoldings(workspace);
          if (isOld) return;
          setHoldings(read);
          setProblem(undefined);
        } catch (error) {
          if (!isOld) setProblem(sentenceOf(error));
        }
      };
      void look();
    }),
  );
  return { holdings, problem, refresh: () => setWish((count) => count + 1) };
}

/** A configuration that somebody writes, and the file that it was made from. */
export interface ConfigDraft {
  text: string;
  /** The digest of that file; `none` if there was none. */
  read: string;
}

const [drafts, setDrafts] = createSignal<Readonly<Record<string, ConfigDraft>>>({});

/** What somebody has written and not proposed yet; it stays while other pages are looked at. */
export const configDraft = (workspace: string): ConfigDraft | undefined => drafts()[workspace];

export function keepConfigDraft(workspace: string, draft: ConfigDraft | undefined): void {
  const { [workspace]: _, ...others } = drafts();
  setDrafts(draft === undefined ? others : { ...others, [workspace]: draft });
}

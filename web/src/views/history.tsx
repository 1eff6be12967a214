/* The history: asks that were settled, with their answers and deliveries, as far back as somebody wants to read. */
import { createEffect, createMemo, For, onMount, Show } from "solid-js";
import type { AskView } from "../api/types.ts";
import { AskPanel } from "../parts/ask-panel.tsx";
import { AskRow } from "../parts/ask-row.tsx";
import { Back } from "../parts/icons.tsx";
import { FilterTools, ListTabs } from "../parts/inbox-tools.tsx";
import { Problem } from "../parts/problem.tsx";
import { VirtualList } from "../parts/virtual.tsx";
import { fragmentOf, goTo, replaceWith, route } from "../router.ts";
import { isEverything } from "../state/filtering.ts";
import { depth, ENDINGS, isReading, problem, readMore, settled, want, wish, type Ending } from "../state/history.ts";
import { bindKeys } from "../state/keys.ts";
import { openAsks, settledAsks } from "../state/ledger.ts";
import { isLoaded, isMissing, ledger, wantAsk } from "../state/live.ts";
import { deliveryLine } from "../text/phrases.ts";
import { words } from "../text/words.ts";

export function History() {
  onMount(() => {
    if (depth().down === "nowhere") void readMore();
  });
  const chosen = createMemo(() => {
    const at = route();
    return at.page === "history" ? at.ask : undefined;
  });
  const ids = createMemo(() => settled().map((ask) => ask.id));
  const move = (by: 1 | -1) => {
    const at = ids().indexOf(chosen() ?? "");
    const to = ids()[at < 0 ? 0 : Math.min(Math.max(at + by, 0), ids().length - 1)];
    if (to === undefined) return;
    (chosen() === undefined ? goTo : replaceWith)({ page: "history", ask: to });
  };
  bindKeys(() => ({
    next: () => move(1),
    previous: () => move(-1),
    back: () => goTo(chosen() === undefined ? { page: "inbox" } : { page: "history" }),
  }));
  const emptiness = () => {
    if (depth().down !== "beginning") return words.history.noneYet;
    return isNarrowed() ? words.history.none : words.history.nothing;
  };
  const isNarrowed = () => !isEverything(wish().filter) || wish().ending !== undefined;
  return (
    <main class="panes" data-chosen={chosen() === undefined ? undefined : ""}>
      <div class="pane-list">
        <ListTabs at="history" waiting={openAsks(ledger()).length} />
        <FilterTools
          filter={wish().filter}
          set={(filter) => want({ ...wish(), filter })}
          asks={settledAsks(ledger())}
          shown={ids().length}
        />
        <fieldset class="segments" aria-label={words.history.state}>
          <For each={[undefined, ...ENDINGS] as readonly (Ending | undefined)[]}>
            {(ending) => (
              <button type="button" class="segment" aria-pressed={wish().ending === ending} onClick={() => want({ ...wish(), ending })}>
                {words.history.states[ending ?? "all"]}
              </button>
            )}
          </For>
        </fieldset>
        <section aria-labelledby="history-title">
          <h2 id="history-title" class="list-title">
            {words.history.heading}
          </h2>
          <VirtualList
            class="rows rows-settled rows-history"
            each={ids()}
            guess={84}
            keep={chosen()}
            fallback={
              <Show when={!isReading()}>
                <li class="rows-empty">{emptiness()}</li>
              </Show>
            }
          >
            {(id) => <Show when={ledger().asks[id]}>{(ask) => <HistoryRow ask={ask()} isCurrent={chosen() === id} />}</Show>}
          </VirtualList>
          <Problem sentence={problem()} />
          <Show when={depth().down !== "beginning"} fallback={<p class="history-end muted">{words.history.end(ids().length)}</p>}>
            <button type="button" class="history-more" aria-disabled={isReading()} onClick={() => isReading() || void readMore()}>
              {isReading() ? words.history.reading : words.history.more}
            </button>
          </Show>
        </section>
      </div>
      <div class="pane-chosen">
        <a class="back" href={fragmentOf({ page: "history" })}>
          <Back /> {words.history.title}
        </a>
        <Show when={chosen()} keyed fallback={<p class="quiet-note muted">{words.history.choose}</p>}>
          {(id) => <Chosen id={id} />}
        </Show>
      </div>
    </main>
  );
}

function HistoryRow(props: { ask: AskView; isCurrent: boolean }) {
  return (
    <AskRow
      row={{ lead: props.ask, members: [props.ask] }}
      isCurrent={props.isCurrent}
      to={{ page: "history", ask: props.ask.id }}
      saysWhere={ledger().workspaces.length > 1}
      note={deliveryLine(props.ask)}
    />
  );
}

function Chosen(props: { id: string }) {
  createEffect(() => {
    if (isLoaded()) wantAsk(props.id);
  });
  return (
    <Show when={ledger().asks[props.id]} fallback={<p class="quiet-note">{isMissing(props.id) ? words.inbox.missing : words.reading}</p>}>
      {(ask) => <AskPanel ask={ask()} hasKeys />}
    </Show>
  );
}

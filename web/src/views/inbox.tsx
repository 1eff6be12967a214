/*
 * The inbox: the asks that wait, those that are alike together, and the one that is chosen.
 *
 * An ask that ends while it is on the list stays in its place and says how, until it is dismissed or the
 * inbox is left. Nothing here moves or goes by itself.
 */
import { createEffect, createMemo, createSignal, For, onCleanup, Show } from "solid-js";
import { AskPanel } from "../parts/ask-panel.tsx";
import { AskRow } from "../parts/ask-row.tsx";
import { BatchBar } from "../parts/batch.tsx";
import { NewSessionComposer } from "../parts/composer.tsx";
import { EngineList, EngineTroubles } from "../parts/engines.tsx";
import { Back, Forward } from "../parts/icons.tsx";
import { FilterTools, ListTabs } from "../parts/inbox-tools.tsx";
import { VirtualList } from "../parts/virtual.tsx";
import { fragmentOf, goTo, replaceWith, route } from "../router.ts";
import { batches } from "../state/answering.ts";
import { apart } from "../state/apart.ts";
import { EVERYTHING, isEverything, passes, type Filter } from "../state/filtering.ts";
import { openIn, rowsOf, type Row } from "../state/grouping.ts";
import { holds } from "../state/identity.ts";
import { bindKeys } from "../state/keys.ts";
import { byAge, openAsks, settledAsks } from "../state/ledger.ts";
import { isLoaded, isMissing, ledger, wantAsk } from "../state/live.ts";
import { isSelecting, selected, startSelecting, stopSelecting, toggle } from "../state/selecting.ts";
import { isWide } from "../state/wide.ts";
import { words } from "../text/words.ts";

/** How many asks that are over are listed; the history has the others. */
const RECENT = 12;

export function Inbox() {
  const { listed, dismiss } = createHeldList();
  const [filter, setFilter] = createSignal<Filter>(EVERYTHING);
  const asks = createMemo(() => listed().flatMap((id) => ledger().asks[id] ?? []));
  const rows = createMemo(() => rowsOf(asks().filter((ask) => passes(ask, filter(), ledger())), batches(), apart()));
  const settled = createMemo(() => {
    const inList = new Set(listed());
    return settledAsks(ledger())
      .filter((ask) => !inList.has(ask.id))
      .slice(0, RECENT)
      .map((ask) => ask.id);
  });
  const { current, shown, move } = createCursor(rows);
  const byAsk = createMemo(() => new Map(rows().flatMap((row) => row.members.map((ask) => [ask.id, row]))));
  const rowWith = (id: string | undefined) => (id === undefined ? undefined : byAsk().get(id));
  const leads = createMemo(() => rows().map((row) => row.lead.id));
  onCleanup(stopSelecting);
  const saysWhere = () => ledger().workspaces.length > 1;

  bindKeys(() => ({
    next: () => move(1),
    previous: () => move(-1),
    open: () => {
      const id = current();
      if (id !== undefined) goTo({ page: "ask", ask: id });
    },
    select: () => {
      const row = rowWith(current());
      if (row !== undefined) toggle(openIn(row));
    },
    back: () => {
      if (isSelecting()) stopSelecting();
      else if (route().page === "ask") goTo({ page: "inbox" });
    },
  }));

  return (
    <main class="panes" data-chosen={route().page === "ask" ? "" : undefined}>
      <div class="pane-list">
        <Show when={holds("prompt")}>
          <NewSessionComposer />
        </Show>
        <EngineTroubles />
        <ListTabs at="waiting" waiting={openAsks(ledger()).length} />
        <Show when={asks().length > 1 || !isEverything(filter())}>
          <FilterTools filter={filter()} set={setFilter} asks={asks()} shown={rows().flatMap((row) => row.members).length} />
        </Show>
        <section aria-labelledby="waiting-title">
          <div class="list-head">
            <h2 id="waiting-title" class="list-title">
              {words.inbox.waiting}
            </h2>
            <Show when={openAsks(ledger()).length > 1 || isSelecting()}>
              <button type="button" class="quiet list-act" aria-pressed={isSelecting()} onClick={() => (isSelecting() ? stopSelecting() : startSelecting())}>
                {isSelecting() ? words.inbox.stopSelecting : words.inbox.select}
              </button>
            </Show>
          </div>
          <VirtualList
            class="rows"
            each={leads()}
            guess={92}
            keep={rowWith(current())?.lead.id}
            fallback={
              <li class="rows-empty">
                {!isLoaded() ? words.reading : isEverything(filter()) ? words.inbox.nothing : words.inbox.noneFits}
              </li>
            }
          >
              {(id) => (
                <Show when={rowWith(id)}>
                  {(row) => (
                    <AskRow
                      row={row()}
                      isCurrent={row().members.some((ask) => ask.id === current())}
                      saysWhere={saysWhere()}
                      {...(openIn(row()).length > 0 || row().lead.state === "open"
                        ? {}
                        : { dismiss: () => dismiss(row().members.map((ask) => ask.id)) })}
                    />
                  )}
                </Show>
              )}
          </VirtualList>
        </section>
        <Show when={settled().length > 0}>
          <section aria-labelledby="settled-title">
            <div class="list-head">
              <h2 id="settled-title" class="list-title">
                {words.inbox.settled}
              </h2>
              <a class="list-act" href={fragmentOf({ page: "history" })}>
                {words.inbox.allSettled}
              </a>
            </div>
            <ul class="rows rows-settled">
              <For each={settled()}>
                {(id) => (
                  <Show when={ledger().asks[id]}>
                    {(known) => <AskRow row={{ lead: known(), members: [known()] }} isCurrent={current() === id} />}
                  </Show>
                )}
              </For>
            </ul>
          </section>
        </Show>
        <EngineList />
        <BatchBar />
      </div>
      <div class="pane-chosen">
        <a class="back" href={fragmentOf({ page: "inbox" })}>
          <Back /> {words.inbox.title}
        </a>
        <Show when={shown()} keyed fallback={<Quiet />}>
          {(id) => <Chosen id={id} rows={rows()} />}
        </Show>
      </div>
    </main>
  );
}

function Chosen(props: { id: string; rows: readonly Row[] }) {
  createEffect(() => {
    if (isLoaded()) wantAsk(props.id);
  });
  const row = () => props.rows.find((each) => each.members.some((ask) => ask.id === props.id));
  const next = () => {
    const own = row();
    const at = own === undefined ? -1 : props.rows.indexOf(own);
    const order = [...props.rows.slice(at + 1), ...props.rows];
    return order.find((each) => each !== own && openIn(each).length > 0)?.lead.id;
  };
  const nextLink = () => (
    <Show when={next()}>
      {(id) => (
        <a class="button" href={fragmentOf({ page: "ask", ask: id() })}>
          {words.inbox.next} <Forward />
        </a>
      )}
    </Show>
  );
  return (
    <Show when={ledger().asks[props.id]} fallback={<p class="quiet-note">{isMissing(props.id) ? words.inbox.missing : words.reading}</p>}>
      {(ask) => <AskPanel ask={ask()} hasKeys={selected().size === 0} row={row()} after={nextLink()} />}
    </Show>
  );
}

function Quiet() {
  const settled = () => settledAsks(ledger()).length;
  return (
    <Show when={isLoaded()}>
      <div class="quiet-note">
        <p>
          <strong>{words.inbox.quiet}</strong>
        </p>
        <p class="muted">
          {words.inbox.appears}
          <Show when={settled() > 0}> {words.inbox.readable(settled())}</Show>
        </p>
      </div>
    </Show>
  );
}

/** The asks that are open, and those that were while this list was shown. */
function createHeldList() {
  const [held, setHeld] = createSignal<ReadonlySet<string>>(new Set());
  createEffect(() => {
    const fresh = openAsks(ledger()).filter((ask) => !held().has(ask.id));
    if (fresh.length > 0) setHeld(new Set([...held(), ...fresh.map((ask) => ask.id)]));
  });
  const listed = createMemo(() => {
    const ids = new Set([...held(), ...openAsks(ledger()).map((ask) => ask.id)]);
    return [...ids]
      .flatMap((id) => ledger().asks[id] ?? [])
      .toSorted(byAge)
      .map((ask) => ask.id);
  });
  const dismiss = (ids: readonly string[]) => setHeld(new Set([...held()].filter((id) => !ids.includes(id))));
  return { listed, dismiss };
}

/** The ask that keys move to, and the one whose whole is shown. */
function createCursor(rows: () => readonly Row[]) {
  const [cursor, setCursor] = createSignal<string>();
  const routed = () => {
    const at = route();
    return at.page === "ask" ? at.ask : undefined;
  };
  const placeOf = (id: string | undefined) => rows().findIndex((row) => row.members.some((ask) => ask.id === id));
  // What is shown stays shown: a new ask never takes the place of the one that somebody looks at.
  createEffect(() => {
    const at = routed() ?? cursor();
    const known = at !== undefined && (routed() === at || placeOf(at) >= 0);
    setCursor(known ? at : rows()[0]?.lead.id);
  });
  const current = createMemo(() => routed() ?? cursor());
  const shown = createMemo(() => routed() ?? (isWide() ? cursor() : undefined));
  const move = (by: 1 | -1) => {
    const list = rows();
    const at = placeOf(current());
    const to = list[at < 0 ? 0 : Math.min(Math.max(at + by, 0), list.length - 1)]?.lead.id;
    if (to === undefined) return;
    if (routed() === undefined) setCursor(to);
    else replaceWith({ page: "ask", ask: to });
  };
  return { current, shown, move };
}

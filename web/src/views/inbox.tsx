/*
 * The inbox: the asks that wait, and the one that is chosen.
 *
 * An ask that ends while it is on the list stays in its place and says how, until it is dismissed or the
 * inbox is left. Nothing here moves or goes by itself.
 */
import { createEffect, createMemo, createSignal, For, Show } from "solid-js";
import type { AskView } from "../api/types.ts";
import { AskPanel } from "../parts/ask-panel.tsx";
import { AskRow } from "../parts/ask-row.tsx";
import { NewSessionComposer } from "../parts/composer.tsx";
import { EngineList, EngineTroubles } from "../parts/engines.tsx";
import { Back, Forward } from "../parts/icons.tsx";
import { fragmentOf, goTo, replaceWith, route } from "../router.ts";
import { holds } from "../state/identity.ts";
import { bindKeys } from "../state/keys.ts";
import { openAsks, settledAsks } from "../state/ledger.ts";
import { isLoaded, isMissing, ledger, wantAsk } from "../state/live.ts";
import { isWide } from "../state/wide.ts";
import { plural } from "../text/phrases.ts";

/** How many asks that are over are listed. */
const RECENT = 50;

export function Inbox() {
  const { listed, dismiss } = createHeldList();
  const settled = createMemo(() => {
    const inList = new Set(listed());
    return settledAsks(ledger())
      .filter((ask) => !inList.has(ask.id))
      .slice(0, RECENT)
      .map((ask) => ask.id);
  });
  const { current, shown, move } = createCursor(listed);
  const ask = (id: string) => ledger().asks[id];

  bindKeys(() => ({
    next: () => move(1),
    previous: () => move(-1),
    open: () => {
      const id = current();
      if (id !== undefined) goTo({ page: "ask", ask: id });
    },
    back: () => {
      if (route().page === "ask") goTo({ page: "inbox" });
    },
  }));

  return (
    <main class="panes" data-chosen={route().page === "ask" ? "" : undefined}>
      <div class="pane-list">
        <Show when={holds("prompt")}>
          <NewSessionComposer />
        </Show>
        <EngineTroubles />
        <section aria-labelledby="waiting-title">
          <h2 id="waiting-title" class="list-title">
            Waiting for an answer
          </h2>
          <ul class="rows">
            <For each={listed()} fallback={<li class="rows-empty">{isLoaded() ? "Nothing is waiting." : "Reading the ledger…"}</li>}>
              {(id) => (
                <Show when={ask(id)}>
                  {(known) => (
                    <AskRow
                      ask={known()}
                      isCurrent={current() === id}
                      {...(known().state === "open" ? {} : { dismiss: () => dismiss(id) })}
                    />
                  )}
                </Show>
              )}
            </For>
          </ul>
        </section>
        <Show when={settled().length > 0}>
          <section aria-labelledby="settled-title">
            <h2 id="settled-title" class="list-title">
              Recently settled
            </h2>
            <ul class="rows rows-settled">
              <For each={settled()}>
                {(id) => <Show when={ask(id)}>{(known) => <AskRow ask={known()} isCurrent={current() === id} />}</Show>}
              </For>
            </ul>
          </section>
        </Show>
        <EngineList />
      </div>
      <div class="pane-chosen">
        <a class="back" href={fragmentOf({ page: "inbox" })}>
          <Back /> Inbox
        </a>
        <Show when={shown()} keyed fallback={<Quiet />}>
          {(id) => <Chosen id={id} listed={listed()} />}
        </Show>
      </div>
    </main>
  );
}

function Chosen(props: { id: string; listed: readonly string[] }) {
  createEffect(() => {
    if (isLoaded()) wantAsk(props.id);
  });
  const next = () =>
    [...props.listed.slice(props.listed.indexOf(props.id) + 1), ...props.listed].find(
      (id) => id !== props.id && ledger().asks[id]?.state === "open",
    );
  const nextLink = () => (
    <Show when={next()}>
      {(id) => (
        <a class="button" href={fragmentOf({ page: "ask", ask: id() })}>
          Next ask <Forward />
        </a>
      )}
    </Show>
  );
  return (
    <Show when={ledger().asks[props.id]} fallback={<p class="quiet-note">{isMissing(props.id) ? "There is no such ask." : "Reading the ledger…"}</p>}>
      {(ask) => <AskPanel ask={ask()} hasKeys after={nextLink()} />}
    </Show>
  );
}

function Quiet() {
  const settled = () => settledAsks(ledger()).length;
  return (
    <Show when={isLoaded()}>
      <div class="quiet-note">
        <p>
          <strong>Nothing is waiting for you.</strong>
        </p>
        <p class="muted">
          When an agent asks for leave, it appears here by itself.
          <Show when={settled() > 0}> {plural(settled(), "recent ask")} can be read in the list.</Show>
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
  const listed = createMemo(() =>
    [...held(), ...openAsks(ledger()).map((ask) => ask.id)]
      .filter((id, index, all) => all.indexOf(id) === index)
      .flatMap((id) => ledger().asks[id] ?? [])
      .toSorted((a: AskView, b: AskView) => a.opened_at.localeCompare(b.opened_at) || a.id.localeCompare(b.id))
      .map((ask) => ask.id),
  );
  const dismiss = (id: string) => setHeld(new Set([...held()].filter((other) => other !== id)));
  return { listed, dismiss };
}

/** The ask that keys move to, and the one whose whole is shown. */
function createCursor(listed: () => readonly string[]) {
  const [cursor, setCursor] = createSignal<string>();
  const routed = () => {
    const at = route();
    return at.page === "ask" ? at.ask : undefined;
  };
  // What is shown stays shown: a new ask never takes the place of the one that somebody looks at.
  createEffect(() => {
    const at = routed() ?? cursor();
    const known = at !== undefined && (routed() === at || listed().includes(at));
    setCursor(known ? at : listed()[0]);
  });
  const current = createMemo(() => routed() ?? cursor());
  const shown = createMemo(() => routed() ?? (isWide() ? cursor() : undefined));
  const move = (by: 1 | -1) => {
    const list = listed();
    const from = current();
    const at = from === undefined ? -1 : list.indexOf(from);
    const to = list[at < 0 ? 0 : Math.min(Math.max(at + by, 0), list.length - 1)];
    if (to === undefined) return;
    if (routed() === undefined) setCursor(to);
    else replaceWith({ page: "ask", ask: to });
  };
  return { current, shown, move };
}

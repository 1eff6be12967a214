/* The sessions, and the one that is chosen. */
import { createMemo, createSignal, Show } from "solid-js";
import type { SessionView } from "../api/types.ts";
import { NewSessionComposer } from "../parts/composer.tsx";
import { EngineTroubles } from "../parts/engines.tsx";
import { Back } from "../parts/icons.tsx";
import { workspaceName } from "../parts/requester.tsx";
import { Findings, SessionSearch } from "../parts/session-search.tsx";
import { Ago } from "../parts/time.tsx";
import { VirtualList } from "../parts/virtual.tsx";
import { Visible } from "../parts/visible.tsx";
import { fragmentOf, goTo, route } from "../router.ts";
import { asTree } from "../state/family.ts";
import { holds } from "../state/identity.ts";
import { bindKeys } from "../state/keys.ts";
import { openAsks, talkingSessions } from "../state/ledger.ts";
import { isLoaded, ledger } from "../state/live.ts";
import { words } from "../text/words.ts";
import { Session } from "./session.tsx";

export function Sessions() {
  const [text, setText] = createSignal("");
  const isSought = (session: SessionView) => {
    const known = `${session.title} ${session.agent} ${workspaceName(session.workspace)}`.toLowerCase();
    return text().toLowerCase().split(/\s+/).every((word) => known.includes(word));
  };
  // By id and depth, so that a row stays the same element while its session changes.
  const rows = createMemo(
    () => asTree(talkingSessions(ledger()).filter(isSought)).map(({ session, depth }) => `${session.id} ${depth}`),
    [],
    { equals: (a, b) => a.length === b.length && a.every((row, at) => row === b[at]) },
  );
  const at = () => {
    const here = route();
    return here.page === "session" ? here : undefined;
  };
  const chosen = createMemo(() => at()?.session);
  bindKeys(() => ({ back: () => goTo(chosen() === undefined ? { page: "inbox" } : { page: "sessions" }) }));
  return (
    <main class="panes" data-chosen={chosen() === undefined ? undefined : ""}>
      <div class="pane-list">
        <Show when={holds("prompt")}>
          <NewSessionComposer />
        </Show>
        <EngineTroubles />
        <SessionSearch text={text()} write={setText} />
        <section aria-labelledby="sessions-title">
          <h2 id="sessions-title" class="list-title">
            {words.sessions.title}
          </h2>
          <VirtualList
            class="rows"
            each={rows()}
            guess={72}
            keep={rows().find((row) => row.startsWith(`${chosen()} `))}
            fallback={<li class="rows-empty">{!isLoaded() ? words.reading : text() === "" ? words.sessions.none : words.sessions.noneFits}</li>}
          >
            {(row) => {
              const [id = "", depth = "0"] = row.split(" ");
              return (
                <Show when={ledger().sessions[id]}>
                  {(session) => <SessionRow session={session()} depth={Number(depth)} isCurrent={chosen() === id} />}
                </Show>
              );
            }}
          </VirtualList>
        </section>
        <Show when={text().trim() !== ""}>
          <Findings text={text()} current={at()} />
        </Show>
      </div>
      <div class="pane-chosen pane-session">
        <a class="back" href={fragmentOf({ page: "sessions" })}>
          <Back /> {words.sessions.title}
        </a>
        <Show when={chosen()} keyed fallback={<p class="quiet-note muted">{words.sessions.choose}</p>}>
          {(id) => <Session id={id} />}
        </Show>
      </div>
    </main>
  );
}

function SessionRow(props: { session: SessionView; depth: number; isCurrent: boolean }) {
  const open = () => openAsks(ledger()).filter((ask) => ask.session === props.session.id).length;
  return (
    <li class="row" classList={{ "row-current": props.isCurrent }} data-session={props.session.id} data-depth={Math.min(props.depth, 3)}>
      <a href={fragmentOf({ page: "session", session: props.session.id })} aria-current={props.isCurrent ? "true" : undefined}>
        <span class="row-head">
          <span class={`dot dot-${props.session.activity}`} aria-hidden="true" />
          <span class="row-who">
            <Visible text={props.session.title === "" ? words.sessions.untitled : props.session.title} />
          </span>
          <span class="row-time">
            <Ago at={props.session.changed_at} />
          </span>
        </span>
        <span class="row-standing">
          <span>{words.sessions.activities[props.session.activity]}</span> · <Visible text={props.session.agent} /> · {workspaceName(props.session.workspace)}
          <Show when={props.session.parent}> · {words.sessions.subAgent}</Show>
        </span>
        <Show when={open() > 0}>
          <span class="chip chip-waiting">{words.sessions.openAsks(open())}</span>
        </Show>
      </a>
    </li>
  );
}

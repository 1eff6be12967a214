/* The asks that are alike: which sessions want the same, who of them gets the answer, and how each delivery stands. */
import { For, Show } from "solid-js";
import type { AskView } from "../api/types.ts";
import { attemptOf } from "../state/answering.ts";
import { apart, setApart } from "../state/apart.ts";
import type { Row } from "../state/grouping.ts";
import { me } from "../state/identity.ts";
import { ledger } from "../state/live.ts";
import { standingOf } from "../text/phrases.ts";
import { visible } from "../text/visible.ts";
import { words } from "../text/words.ts";
import { Stack } from "./icons.tsx";
import { Problem } from "./problem.tsx";
import { SessionLink } from "./requester.tsx";
import { Waiting } from "./time.tsx";

export function GroupBox(props: { row: Row; current: string }) {
  // Those that were set apart are still shown here, so that they can be taken back in.
  const members = () => {
    const [first] = props.row.members;
    const asides = Object.values(ledger().asks).filter(
      (ask) => apart().has(ask.id) && ask.state === "open" && ask.likeness === first?.likeness && ask.workspace === first.workspace,
    );
    const ids = new Set([...props.row.members, ...asides].map((ask) => ask.id));
    return [...ids].flatMap((id) => ledger().asks[id] ?? []);
  };
  const isOpen = () => members().some((ask) => ask.state === "open");
  return (
    <Show when={members().length > 1}>
      <section class="group" aria-labelledby="group-title">
        <h3 id="group-title">
          <Stack /> {isOpen() ? words.group.title(members().length) : words.group.over(members().length)}
        </h3>
        <Show when={isOpen()}>
          <p class="muted">{words.group.how}</p>
        </Show>
        <ul>
          <For each={members().map((ask) => ask.id)}>
            {(id) => <Show when={ledger().asks[id]}>{(ask) => <Member ask={ask()} isCurrent={id === props.current} />}</Show>}
          </For>
        </ul>
      </section>
    </Show>
  );
}

function Member(props: { ask: AskView; isCurrent: boolean }) {
  const problem = () => {
    const attempt = attemptOf(props.ask.id);
    return attempt?.kind === "failed" ? attempt.problem : undefined;
  };
  const title = () => visible(ledger().sessions[props.ask.session]?.title || props.ask.session);
  return (
    <li class="group-member" data-ask={props.ask.id} data-state={props.ask.state}>
      <Show when={props.ask.state === "open"}>
        <input
          type="checkbox"
          aria-label={`${words.group.together}: ${title()}`}
          checked={!apart().has(props.ask.id)}
          onChange={(event) => setApart(props.ask.id, !event.currentTarget.checked)}
        />
      </Show>
      <span class="group-session">
        <SessionLink session={props.ask.session} />
      </span>
      <span class="muted group-standing">
        <Show when={props.ask.state === "open"} fallback={standingOf(props.ask, me())}>
          <Waiting from={props.ask.opened_at} />
        </Show>
      </span>
      <Problem sentence={problem()} />
    </li>
  );
}

/* A session and the sub-agents that it started, and those that they started: a tree, where there is more than one. */
import { createMemo, For, Show } from "solid-js";
import type { SessionView } from "../api/types.ts";
import { fragmentOf } from "../router.ts";
import { familyOf, type Member } from "../state/family.ts";
import { ledger } from "../state/live.ts";
import { words } from "../text/words.ts";
import { Branch } from "./icons.tsx";
import { Visible } from "./visible.tsx";

export function Family(props: { session: SessionView }) {
  const family = createMemo(() => familyOf(ledger().sessions, props.session.id));
  return (
    <Show when={family()}>
      {(root) => (
        <Show when={root().children.length > 0}>
          <details class="family">
            <summary>
              <Branch /> {words.family.title(count(root()) - 1)}
              <Show when={busy(root()) > 0}>
                <span class="chip chip-waiting">{words.family.working(busy(root()))}</span>
              </Show>
            </summary>
            <ul>
              <Node member={root()} current={props.session.id} />
            </ul>
          </details>
        </Show>
      )}
    </Show>
  );
}

const count = (member: Member): number => 1 + member.children.reduce((sum, child) => sum + count(child), 0);
/** How many sub-agents are at work. */
const busy = (member: Member): number => member.children.reduce((sum, child) => sum + Number(child.session.activity === "busy") + busy(child), 0);

function Node(props: { member: Member; current: string }) {
  const session = () => props.member.session;
  return (
    <li>
      <a href={fragmentOf({ page: "session", session: session().id })} aria-current={session().id === props.current ? "true" : undefined}>
        <span class={`dot dot-${session().activity}`} aria-hidden="true" />
        <span class="family-title">
          <Visible text={session().title === "" ? words.sessions.untitled : session().title} />
        </span>
        <span class="muted">
          <Visible text={session().agent} /> · {words.sessions.activities[session().activity]}
        </span>
      </a>
      <Show when={props.member.children.length > 0}>
        <ul>
          <For each={props.member.children}>{(child) => <Node member={child} current={props.current} />}</For>
        </ul>
      </Show>
    </li>
  );
}

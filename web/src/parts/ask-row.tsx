/* One ask in a list: enough to recognise it; its own page has the whole. */
import { createEffect, Show } from "solid-js";
import type { AskView } from "../api/types.ts";
import { fragmentOf } from "../router.ts";
import { me } from "../state/identity.ts";
import { isYes, plural, standingOf } from "../text/phrases.ts";
import { wantOf } from "../text/wants.ts";
import { AskIcon } from "./ask-icon.tsx";
import { Cross } from "./icons.tsx";
import { Ago, Waiting } from "./time.tsx";
import { Visible } from "./visible.tsx";

export function AskRow(props: { ask: AskView; isCurrent: boolean; dismiss?: () => void }) {
  let row: HTMLLIElement | undefined;
  createEffect(() => {
    if (props.isCurrent) row?.scrollIntoView({ block: "nearest" });
  });
  const lines = () => props.ask.summary.trimEnd().split("\n").length;
  return (
    <li
      ref={(element) => (row = element)}
      class="row"
      classList={{ "row-current": props.isCurrent }}
      data-ask={props.ask.id}
      data-state={props.ask.state}
      data-verdict={props.ask.answer === undefined ? undefined : isYes(props.ask.answer) ? "yes" : "no"}
    >
      <a href={fragmentOf({ page: "ask", ask: props.ask.id })} aria-current={props.isCurrent ? "true" : undefined}>
        <span class="row-head">
          <AskIcon ask={props.ask} />
          <span class="row-who">
            <Visible text={props.ask.requester} /> {wantOf(props.ask)}
          </span>
          <span class="row-time">
            <Show when={props.ask.state === "open"} fallback={<Ago at={props.ask.opened_at} />}>
              <Waiting from={props.ask.opened_at} />
            </Show>
          </span>
        </span>
        <span class="row-summary" classList={{ "row-prose": props.ask.subject.kind === "question" }}>
          <Visible text={props.ask.summary} />
        </span>
        <Show when={lines() > 2}>
          <span class="row-more">{plural(lines(), "line")}</span>
        </Show>
        <Show when={props.ask.state !== "open"}>
          <span class="row-standing">{standingOf(props.ask, me())}</span>
        </Show>
      </a>
      <Show when={props.dismiss}>
        {(dismiss) => (
          <button type="button" class="quiet row-dismiss" aria-label="Dismiss" onClick={() => dismiss()()}>
            <Cross />
          </button>
        )}
      </Show>
    </li>
  );
}

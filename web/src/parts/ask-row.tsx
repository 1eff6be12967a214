/* One place in a list of asks: enough to recognise what is asked; the ask's own page has the whole. */
import { createEffect, Show } from "solid-js";
import type { AskView } from "../api/types.ts";
import { fragmentOf, type Route } from "../router.ts";
import { attemptOf } from "../state/answering.ts";
import type { Row } from "../state/grouping.ts";
import { openIn } from "../state/grouping.ts";
import { me } from "../state/identity.ts";
import { isSelected, isSelecting, toggle } from "../state/selecting.ts";
import { deliveredIn, giverOf, isYes, standingOf, verdictOf } from "../text/phrases.ts";
import { visible } from "../text/visible.ts";
import { wantOf } from "../text/wants.ts";
import { words } from "../text/words.ts";
import { AskIcon } from "./ask-icon.tsx";
import { Cross, Stack } from "./icons.tsx";
import { workspaceName } from "./requester.tsx";
import { Ago, Countdown, Waiting } from "./time.tsx";
import { Visible } from "./visible.tsx";

/** More than the two lines of a row can show. */
const IN_SIGHT = 1_000;

export function AskRow(props: {
  row: Row;
  isCurrent: boolean;
  /** Where a press on it leads. */
  to?: Route;
  /** Whether it says which workspace it is of: where there are several. */
  saysWhere?: boolean;
  /** What else there is to say of it. */
  note?: string | undefined;
  dismiss?: () => void;
}) {
  let element: HTMLLIElement | undefined;
  createEffect(() => {
    if (props.isCurrent) element?.scrollIntoView({ block: "nearest" });
  });
  const ask = () => props.row.lead;
  const count = () => props.row.members.length;
  const open = () => openIn(props.row);
  const lines = () => ask().summary.trimEnd().split("\n").length;
  const verdict = (answer: AskView["answer"]) => (answer === undefined ? undefined : isYes(answer) ? "yes" : "no");
  const isPickable = () => isSelecting() && open().length > 0;
  return (
    <li
      ref={(made) => (element = made)}
      class="row"
      classList={{ "row-current": props.isCurrent, "row-picking": isPickable(), "row-picked": isPickable() && isSelected(open()) }}
      data-ask={ask().id}
      data-state={ask().state}
      data-verdict={verdict(ask().answer)}
    >
      <Show when={isPickable()}>
        <label class="row-pick">
          <input
            type="checkbox"
            aria-label={words.inbox.selectOne(visible(ask().summary.slice(0, 120)))}
            checked={isSelected(open())}
            onChange={() => toggle(open())}
          />
        </label>
      </Show>
      <a href={fragmentOf(props.to ?? { page: "ask", ask: ask().id })} aria-current={props.isCurrent ? "true" : undefined}>
        <span class="row-head">
          <AskIcon ask={ask()} />
          <span class="row-who">
            <Visible text={ask().requester} /> {wantOf(ask())}
          </span>
          <span class="row-time">
            <Show when={ask().state === "open"} fallback={<Ago at={ask().opened_at} />}>
              <Waiting from={ask().opened_at} />
            </Show>
          </span>
        </span>
        <span class="row-summary" classList={{ "row-prose": ask().subject.kind !== "permission" }}>
          <Visible text={ask().summary.slice(0, IN_SIGHT)} />
        </span>
        <Show when={lines() > 2}>
          <span class="row-more">{words.inbox.lines(lines())}</span>
        </Show>
        <Show when={props.saysWhere}>
          <span class="row-more">
            <Visible text={workspaceName(ask().workspace)} />
          </span>
        </Show>
        <Show when={count() > 1 || (ask().state === "open" && ask().expires_at) || attemptOf(ask().id)?.kind === "held"}>
          <span class="row-tags">
            <Show when={count() > 1}>
              <span class="chip">
                <Stack /> {words.group.chip(count())}
              </span>
            </Show>
            <Countdown ask={ask()} />
            <Show when={attemptOf(ask().id)?.kind === "held"}>
              <span class="chip chip-waiting">{words.held.chip}</span>
            </Show>
          </span>
        </Show>
        <Show when={ask().state !== "open"}>
          <span class="row-standing">
            <Show when={count() > 1 && ask().answer} fallback={standingOf(ask(), me())}>
              {(answer) => (
                <>
                  {words.outcome.by(verdictOf(answer()), giverOf(answer(), me()))} ·{" "}
                  {words.group.progress(deliveredIn(props.row.members), count())}
                </>
              )}
            </Show>
          </span>
        </Show>
        <Show when={props.note}>{(note) => <span class="row-more">{note()}</span>}</Show>
        <Show when={props.row.fellOutOf}>{(size) => <span class="row-fell">{words.group.fellOut(size())}</span>}</Show>
      </a>
      <Show when={props.dismiss}>
        {(dismiss) => (
          <button type="button" class="quiet row-dismiss" aria-label={words.inbox.dismiss} onClick={() => dismiss()()}>
            <Cross />
          </button>
        )}
      </Show>
    </li>
  );
}

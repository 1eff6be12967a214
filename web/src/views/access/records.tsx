/* A list of what somebody may take away: what it is, a way to make more, what is valid, and behind that what no longer is. */
import { For, Show, type JSX } from "solid-js";
import { Problem } from "../../parts/problem.tsx";
import type { Reading } from "../../state/reading.ts";
import type { Sorted } from "../../state/tokens.ts";
import { words } from "../../text/words.ts";

export function Records<T>(props: {
  /** What the heading is called by. */
  id: string;
  title: string;
  about: JSX.Element;
  /** The way to make more, for whoever may. */
  make?: JSX.Element;
  reading: Reading<unknown>;
  records: Sorted<T>;
  /** What is said if none is valid. */
  none: string;
  row: (record: T, isValid: boolean) => JSX.Element;
  /** Dialogs. */
  children: JSX.Element;
}) {
  return (
    <section class="records" aria-labelledby={props.id}>
      <div class="records-head">
        <h2 id={props.id}>{props.title}</h2>
        {props.make}
      </div>
      {props.about}
      <Problem sentence={props.reading.problem()} />
      <Show
        when={props.reading.value() !== undefined}
        fallback={
          <Show when={props.reading.problem() === undefined}>
            <p class="muted">{words.reading}</p>
          </Show>
        }
      >
        <ul class="record-list">
          <For each={props.records.valid} fallback={<li class="rows-empty">{props.none}</li>}>
            {(record) => props.row(record, true)}
          </For>
        </ul>
        <Show when={props.records.past.length > 0}>
          <details class="record-past">
            <summary>{words.access.past(props.records.past.length)}</summary>
            <ul class="record-list">
              <For each={props.records.past}>{(record) => props.row(record, false)}</For>
            </ul>
          </details>
        </Show>
      </Show>
      {props.children}
    </section>
  );
}

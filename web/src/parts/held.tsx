/* Answers that can still be taken back: what is about to be sent, and how long it can be undone. */
import { For, onCleanup, onMount, Show } from "solid-js";
import { held, sendNow, takeBack, type Held } from "../state/answering.ts";
import { now } from "../state/clock.ts";
import { bindKeys } from "../state/keys.ts";
import { ledger } from "../state/live.ts";
import { preferences } from "../state/preferences.ts";
import { visible } from "../text/visible.ts";
import { words } from "../text/words.ts";
import { Clock, Undo } from "./icons.tsx";

/** Stands above every page while an answer is held. */
export function HeldAnswers() {
  bindKeys(() => {
    const newest = held().at(-1);
    return newest === undefined ? {} : { undo: () => takeBack(newest.id) };
  });
  onMount(() => {
    // Whoever leaves now has not answered: the browser asks whether that is meant.
    const leaving = (event: BeforeUnloadEvent) => {
      if (held().length > 0) event.preventDefault();
    };
    addEventListener("beforeunload", leaving);
    onCleanup(() => removeEventListener("beforeunload", leaving));
  });
  return (
    <output class="held-answers" aria-label={words.held.title}>
      <For each={held()}>
        {(answer) => (
          <span class="held-answer">
            <span>
              <strong>{actOf(answer)}</strong> <span class="held-what">{whatOf(answer)}</span>
              <Left answer={answer} />
            </span>
            <span class="held-buttons">
              <button type="button" onClick={() => takeBack(answer.id)}>
                <Undo /> {words.held.undo} <kbd aria-hidden="true">u</kbd>
              </button>
              <button type="button" class="quiet" onClick={() => sendNow(answer.id)}>
                {words.held.now}
              </button>
            </span>
          </span>
        )}
      </For>
    </output>
  );
}

/** Stands where the buttons of the ask would be. */
export function HeldNote(props: { ask: string }) {
  const answer = () => held().find((each) => each.asks.includes(props.ask));
  return (
    <Show when={answer()}>
      {(found) => (
        <p class="note note-warning">
          <Clock />
          <span>
            {words.held.note} <Left answer={found()} />
          </span>
        </p>
      )}
    </Show>
  );
}

/** Ticking for eyes; a voice that told every second would tell nothing else. */
function Left(props: { answer: Held }) {
  return (
    <span class="muted" aria-hidden="true">
      {" "}
      {words.held.left(Math.min(preferences().undo, Math.max(0, Math.ceil((props.answer.until - now()) / 1000))))}
    </span>
  );
}

function actOf({ request }: Held): string {
  if (request.answer === "deny") return words.held.deny;
  return request.answer === "allow_once" || request.answer === "allow_always" ? words.held.allow : words.held.answer;
}

function whatOf({ asks }: Held): string {
  const [only, ...more] = asks;
  if (only === undefined || more.length > 0) return words.held.asks(asks.length);
  return visible(ledger().asks[only]?.summary ?? only)
    .slice(0, 120)
    .replaceAll(/\s+/g, " ");
}

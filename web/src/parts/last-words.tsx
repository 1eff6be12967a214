/* What was said right before an ask, for whoever was not there. */
import { createResource, createSignal, createUniqueId, Show } from "solid-js";
import { readLastItems } from "../api/client.ts";
import type { AskView } from "../api/types.ts";
import { lastWordsOf } from "../state/last-words.ts";
import { words } from "../text/words.ts";
import { Visible } from "./visible.tsx";

/** How many of the newest items are read to find it. */
const READ = 60;
/** Longer words are folded at first. */
const LONG = 400;

export function LastWords(props: { ask: AskView }) {
  const [said] = createResource(
    () => props.ask.id,
    async () => {
      try {
        return lastWordsOf(await readLastItems(props.ask.session, READ), props.ask.opened_at);
      } catch {
        // It helps to decide and is not needed for it: the session itself says what went wrong with it.
        return {};
      }
    },
  );
  const title = createUniqueId();
  return (
    <Show when={said.latest?.agent ?? said.latest?.prompt}>
      <section class="context" aria-labelledby={title}>
        <h3 id={title}>{words.context.title}</h3>
        <Show when={said.latest?.prompt}>{(prompt) => <Said label={words.context.prompt} text={prompt().text} />}</Show>
        <Show when={said.latest?.agent}>{(agent) => <Said label={words.context.agent} text={agent().text} />}</Show>
      </section>
    </Show>
  );
}

function Said(props: { label: string; text: string }) {
  const [isWhole, setWhole] = createSignal(false);
  const isLong = () => props.text.length > LONG || props.text.split("\n").length > 6;
  // What was said last is nearest to what is asked.
  const text = () => (isLong() && !isWhole() ? `… ${props.text.slice(-LONG).trimStart().split("\n").slice(-6).join("\n")}` : props.text.trim());
  return (
    <div class="context-said">
      <span class="context-label">{props.label}</span>
      <blockquote>
        <Visible text={text()} />
      </blockquote>
      <Show when={isLong()}>
        <button type="button" class="quiet context-more" aria-expanded={isWhole()} onClick={() => setWhole(!isWhole())}>
          {isWhole() ? words.context.less : words.context.more}
        </button>
      </Show>
    </div>
  );
}

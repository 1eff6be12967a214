/* Text that somebody else chose, with nothing hidden in it. */
import { createMemo, For, Show } from "solid-js";
import { segments } from "../text/visible.ts";
import { words } from "../text/words.ts";

/** Shows `text` as it is, with deceptive characters written out and marked. */
export function Visible(props: { text: string }) {
  const parts = createMemo(() => segments(props.text));
  return (
    <For each={parts()}>
      {(part) => (
        <Show when={part.deceptive} fallback={part.text}>
          <mark class="deceptive" title={words.shown.deceptive}>
            {part.text}
          </mark>
        </Show>
      )}
    </For>
  );
}

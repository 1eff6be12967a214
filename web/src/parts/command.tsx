/* A command, whole. Its words are broken only where one alone is longer than a line: a break after a hyphen reads like a blank. */
import { createMemo, For } from "solid-js";
import { Visible } from "./visible.tsx";

export function Command(props: { text: string }) {
  const pieces = createMemo(() => props.text.split(/([ \t\n]+)/));
  return (
    <pre class="code command" tabindex="0">
      <For each={pieces()}>
        {(piece, index) =>
          index() % 2 === 1 ? (
            piece
          ) : (
            <span class="word">
              <Visible text={piece} />
            </span>
          )
        }
      </For>
    </pre>
  );
}

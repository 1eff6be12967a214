/* A sentence of ours, in which `backticks` mark what is to be typed or read word for word. */
import { createMemo, For } from "solid-js";
import { Visible } from "./visible.tsx";

export function Sentence(props: { text: string }) {
  const parts = createMemo(() => props.text.split("`"));
  // An odd number of marks is no marking at all.
  return (
    <For each={parts().length % 2 === 1 ? parts() : [props.text]}>
      {(part, index) =>
        index() % 2 === 1 ? (
          <code>
            <Visible text={part} />
          </code>
        ) : (
          <Visible text={part} />
        )
      }
    </For>
  );
}

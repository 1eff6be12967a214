/* What went wrong, where it went wrong: read out at once. */
import { Show } from "solid-js";
import { Alert } from "./icons.tsx";
import { Sentence } from "./sentence.tsx";

/** Nothing as long as nothing did. `lead` says what did not come about. */
export function Problem(props: { sentence: string | undefined; lead?: string }) {
  return (
    <Show when={props.sentence}>
      {(sentence) => (
        <p class="note note-error" role="alert">
          <Alert />
          <span>
            <Show when={props.lead}>{(lead) => `${lead()} `}</Show>
            <Sentence text={sentence()} />
          </span>
        </p>
      )}
    </Show>
  );
}

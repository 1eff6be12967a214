/* What the lists of a workspace's holdings have in common: what can be done with an entry, and the look at it. */
import { Show } from "solid-js";
import type { NewChange } from "../../api/types.ts";
import { Sentence } from "../sentence.tsx";
import { ChangeDialog } from "./change-dialog.tsx";

/** Something that can be done with an entry; `label` names the entry too, for whoever does not see it. */
export function Act(props: { word: string; label: string; act: () => void }) {
  return (
    <button type="button" class="quiet" aria-label={props.label} onClick={() => props.act()}>
      {props.word}
    </button>
  );
}

/** Looks at a change that needs no form, as long as there is one. */
export function Reviewing(props: { workspace: string; change: NewChange | undefined; done?: () => void; forget: () => void }) {
  return (
    <Show when={props.change} keyed>
      {(change) => (
        <ChangeDialog
          workspace={props.workspace}
          change={change}
          done={() => {
            props.done?.();
            props.forget();
          }}
          close={() => props.forget()}
        />
      )}
    </Show>
  );
}

/** What is said where there is nothing yet, with its marks. */
export function Nothing(props: { text: string }) {
  return (
    <li class="rows-empty">
      <Sentence text={props.text} />
    </li>
  );
}

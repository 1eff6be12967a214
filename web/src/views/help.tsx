/* What the keys do. */
import { For, onMount } from "solid-js";
import { words } from "../text/words.ts";

export function Help(props: { close: () => void }) {
  let dialog: HTMLDialogElement | undefined;
  onMount(() => dialog?.showModal());
  return (
    <dialog ref={(element) => (dialog = element)} aria-labelledby="help-title" onClose={() => props.close()}>
      <h2 id="help-title">{words.help.title}</h2>
      <dl class="keys">
        <For each={words.help.keys}>
          {(line) => (
            <div>
              <dt>
                <For each={line.keys}>{(key) => <kbd>{key}</kbd>}</For>
              </dt>
              <dd>{line.does}</dd>
            </div>
          )}
        </For>
      </dl>
      <p class="muted">{words.help.armed}</p>
      <div class="dialog-buttons">
        <button type="button" class="primary" onClick={() => dialog?.close()}>
          {words.close}
        </button>
      </div>
    </dialog>
  );
}

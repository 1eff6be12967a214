/* What the keys do. */
import { For, onMount } from "solid-js";
import { KEYS } from "../state/keys.ts";

export function Help(props: { close: () => void }) {
  let dialog: HTMLDialogElement | undefined;
  onMount(() => dialog?.showModal());
  return (
    <dialog ref={(element) => (dialog = element)} aria-labelledby="help-title" onClose={() => props.close()}>
      <h2 id="help-title">Keys</h2>
      <dl class="keys">
        <For each={KEYS}>
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
      <p class="muted">An ask that has just appeared takes answers after a moment, so that no key meant for another hits it.</p>
      <div class="dialog-buttons">
        <button type="button" class="primary" onClick={() => dialog?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}

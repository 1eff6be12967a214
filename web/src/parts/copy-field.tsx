/* A text that somebody takes elsewhere. */
import { createSignal, createUniqueId, Show } from "solid-js";
import { words } from "../text/words.ts";

export function CopyField(props: { label: string; text: string }) {
  const field = createUniqueId();
  const [isCopied, setCopied] = createSignal(false);
  // Browsers let pages copy only where the connection is safe; by hand it can always be done.
  const canCopy = () => typeof navigator.clipboard?.writeText === "function";
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(props.text);
      setCopied(true);
    } catch {
      document.querySelector<HTMLInputElement>(`#${field}`)?.select();
    }
  };
  return (
    <div class="field">
      <label for={field}>{props.label}</label>
      <div class="field-row">
        <input id={field} type="text" class="mono" readOnly value={props.text} onFocus={(event) => event.currentTarget.select()} />
        <Show when={canCopy()}>
          <button type="button" onClick={() => void copy()}>
            <span aria-live="polite">{isCopied() ? words.access.copied : words.access.copy}</span>
          </button>
        </Show>
      </div>
    </div>
  );
}

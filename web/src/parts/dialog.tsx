/* A dialog with a title: it is open as long as it is there, and Esc leaves it. */
import { createUniqueId, onMount, type JSX } from "solid-js";

export function Dialog(props: { title: JSX.Element; class?: string; close: () => void; children: JSX.Element }) {
  const title = createUniqueId();
  let dialog: HTMLDialogElement | undefined;
  onMount(() => dialog?.showModal());
  return (
    <dialog
      class={props.class ?? ""}
      ref={(element) => (dialog = element)}
      aria-labelledby={title}
      onClose={(event) => {
        // That of a dialog within this one comes by here too.
        if (event.target === dialog) props.close();
      }}
    >
      <h2 id={title}>{props.title}</h2>
      {props.children}
    </dialog>
  );
}

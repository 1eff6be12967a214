/* Makes sure before something is taken away, and says there what went wrong if it did. */
import { createSignal, createUniqueId, onMount, type JSX } from "solid-js";
import { sentenceOf } from "../api/client.ts";
import { words } from "../text/words.ts";
import { Problem } from "./problem.tsx";

export function ConfirmDialog(props: {
  title: string;
  /** What pressing it does; the dialog closes when it is done. */
  act: () => Promise<void>;
  actName: string;
  close: () => void;
  children: JSX.Element;
}) {
  const title = createUniqueId();
  const [problem, setProblem] = createSignal<string>();
  const [isBusy, setBusy] = createSignal(false);
  let dialog: HTMLDialogElement | undefined;
  onMount(() => dialog?.showModal());
  const act = async () => {
    if (isBusy()) return;
    setBusy(true);
    try {
      await props.act();
      dialog?.close();
    } catch (error) {
      setProblem(sentenceOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <dialog ref={(element) => (dialog = element)} aria-labelledby={title} onClose={() => props.close()}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void act();
        }}
      >
        <h2 id={title}>{props.title}</h2>
        {props.children}
        <Problem sentence={problem()} />
        <div class="dialog-buttons">
          <button type="button" onClick={() => dialog?.close()}>
            {words.cancel}
          </button>
          <button type="submit" class="danger" aria-disabled={isBusy()}>
            {props.actName}
          </button>
        </div>
      </form>
    </dialog>
  );
}

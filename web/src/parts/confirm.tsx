/* Asks once more before something is done that cannot be taken back. */
import { createSignal, type JSX } from "solid-js";
import { sentenceOf } from "../api/client.ts";
import { words } from "../text/words.ts";
import { Dialog } from "./dialog.tsx";
import { Problem } from "./problem.tsx";

export function Confirm(props: {
  title: string;
  act: string;
  isDangerous?: boolean;
  perform: () => Promise<void>;
  close: () => void;
  children: JSX.Element;
}) {
  const [isBusy, setBusy] = createSignal(false);
  const [problem, setProblem] = createSignal<string>();
  const perform = async () => {
    setBusy(true);
    try {
      await props.perform();
      props.close();
    } catch (error) {
      setProblem(sentenceOf(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={props.title} close={props.close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void perform();
        }}
      >
        {props.children}
        <Problem sentence={problem()} />
        <div class="dialog-buttons">
          <button type="button" onClick={() => props.close()}>
            {words.cancel}
          </button>
          <button type="submit" class={props.isDangerous === true ? "danger" : "primary"} disabled={isBusy()}>
            {props.act}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/* A form in a dialog whose outcome is a change: it is looked at on top of the form, so that nothing that was typed is lost. */
import { createSignal, createUniqueId, Show, type JSX } from "solid-js";
import type { NewChange } from "../../api/types.ts";
import { words } from "../../text/words.ts";
import { Dialog } from "../dialog.tsx";
import { Problem } from "../problem.tsx";
import { Sentence } from "../sentence.tsx";
import { ChangeDialog } from "./change-dialog.tsx";

export function ChangeForm(props: {
  title: string;
  workspace: string;
  /** The digest of the file that was read into the form. */
  read?: string | undefined;
  /** The change that the form means, or a sentence about what does not fit. */
  change: () => NewChange | string;
  close: () => void;
  children: JSX.Element;
}) {
  const [change, setChange] = createSignal<NewChange>();
  const [problem, setProblem] = createSignal<string>();
  const look = () => {
    const meant = props.change();
    setProblem(typeof meant === "string" ? meant : undefined);
    if (typeof meant !== "string") setChange(meant);
  };
  return (
    <Dialog title={props.title} class="form-dialog" close={props.close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          look();
        }}
      >
        {props.children}
        <Problem sentence={problem()} />
        <div class="dialog-buttons">
          <button type="button" onClick={() => props.close()}>
            {words.cancel}
          </button>
          <button type="submit" class="primary">
            {words.holdings.look}
          </button>
        </div>
      </form>
      <Show when={change()} keyed>
        {(meant) => (
          <ChangeDialog
            workspace={props.workspace}
            change={meant}
            read={props.read}
            done={() => props.close()}
            close={() => setChange(undefined)}
          />
        )}
      </Show>
    </Dialog>
  );
}

/** A field with its name above it, and a hint below it. */
export function Field(props: { label: string; hint?: string; children: (id: string, hint: string | undefined) => JSX.Element }) {
  const id = createUniqueId();
  const hint = () => (props.hint === undefined ? undefined : `${id}-hint`);
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      {props.children(id, hint())}
      <Show when={props.hint}>
        {(text) => (
          <small id={hint()}>
            <Sentence text={text()} />
          </small>
        )}
      </Show>
    </div>
  );
}

export function TextField(props: {
  label: string;
  hint?: string;
  value: string;
  write: (text: string) => void;
  isRequired?: boolean;
  isFixed?: boolean;
  isCode?: boolean;
}) {
  return (
    <Field label={props.label} {...(props.hint === undefined ? {} : { hint: props.hint })}>
      {(id, hint) => (
        <input
          type="text"
          id={id}
          aria-describedby={hint}
          classList={{ code: props.isCode === true }}
          required={props.isRequired === true}
          readOnly={props.isFixed === true}
          spellcheck={props.isCode !== true}
          autocapitalize="off"
          value={props.value}
          onInput={(event) => props.write(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export function TextArea(props: {
  label: string;
  hint?: string;
  value: string;
  write: (text: string) => void;
  isRequired?: boolean;
  isCode?: boolean;
  rows?: number;
}) {
  return (
    <Field label={props.label} {...(props.hint === undefined ? {} : { hint: props.hint })}>
      {(id, hint) => (
        <textarea
          id={id}
          aria-describedby={hint}
          classList={{ code: props.isCode === true }}
          rows={props.rows ?? 4}
          required={props.isRequired === true}
          spellcheck={props.isCode !== true}
          value={props.value}
          onInput={(event) => props.write(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/* One answer to everything that was picked: the bar that offers it, and the question whether that is meant. */
import { createSignal, createUniqueId, For, onMount, Show } from "solid-js";
import type { AskView } from "../api/types.ts";
import { allowOnce, deny } from "../state/answer-request.ts";
import { give } from "../state/answering.ts";
import { planOf, type Verdict } from "../state/batch.ts";
import { bindKeys } from "../state/keys.ts";
import { ledger } from "../state/live.ts";
import { selected, stopSelecting } from "../state/selecting.ts";
import { visible } from "../text/visible.ts";
import { wantOf } from "../text/wants.ts";
import { words } from "../text/words.ts";
import { AskIcon } from "./ask-icon.tsx";
import { GrowingField } from "./growing-field.tsx";
import { Alert } from "./icons.tsx";
import { workspaceName } from "./requester.tsx";
import { Visible } from "./visible.tsx";

export function BatchBar() {
  const [verdict, setVerdict] = createSignal<Verdict>();
  const isSome = () => selected().size > 0;
  // While something is picked, the keys mean that and not the ask that is shown.
  bindKeys(() => (isSome() ? { allow: () => setVerdict("allow"), deny: () => setVerdict("deny"), always: () => undefined } : {}));
  return (
    <>
      <Show when={isSome()}>
        <fieldset class="batch-bar" aria-label={words.batch.label}>
          <output class="batch-count">{words.batch.selected(selected().size)}</output>
          <button type="button" class="primary" aria-haspopup="dialog" onClick={() => setVerdict("allow")}>
            {words.batch.allow} <kbd aria-hidden="true">a</kbd>
          </button>
          <button type="button" class="danger" aria-haspopup="dialog" onClick={() => setVerdict("deny")}>
            {words.batch.deny} <kbd aria-hidden="true">d</kbd>
          </button>
          <button type="button" class="quiet" onClick={stopSelecting}>
            {words.batch.clear}
          </button>
        </fieldset>
      </Show>
      <Show when={verdict()}>{(chosen) => <BatchDialog verdict={chosen()} close={() => setVerdict(undefined)} />}</Show>
    </>
  );
}

function BatchDialog(props: { verdict: Verdict; close: () => void }) {
  const title = createUniqueId();
  const [reason, setReason] = createSignal("");
  // What is confirmed is what was named, whatever comes in meanwhile.
  const plan = planOf(ledger(), selected(), props.verdict);
  const count = plan.answered.length;
  let dialog: HTMLDialogElement | undefined;
  let field: HTMLTextAreaElement | undefined;
  let button: HTMLButtonElement | undefined;
  onMount(() => {
    dialog?.showModal();
    (field ?? button)?.focus();
  });
  const confirm = () => {
    if (count === 0) return;
    const request = props.verdict === "allow" ? allowOnce() : deny(reason());
    give(plan.answered.map((ask) => ask.id), request);
    stopSelecting();
    dialog?.close();
  };
  const heading = () => {
    if (count === 0) return words.batch.noneTitle;
    return props.verdict === "allow" ? words.batch.allowTitle(count) : words.batch.denyTitle(count);
  };
  return (
    <dialog class="batch-dialog" ref={(element) => (dialog = element)} aria-labelledby={title} onClose={() => props.close()}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          confirm();
        }}
      >
        <h2 id={title}>{heading()}</h2>
        <Show when={count > 0}>
          <p>{words.batch.each}</p>
          <ul class="batch-asks">
            <For each={plan.answered}>{(ask) => <Named ask={ask} />}</For>
          </ul>
        </Show>
        <Show when={plan.left.length > 0}>
          <p class="muted">{words.batch.left}</p>
          <ul class="batch-asks batch-left">
            <For each={plan.left}>{({ ask, why }) => <Named ask={ask} why={words.batch.leftWhy[why]} />}</For>
          </ul>
        </Show>
        <Show when={plan.fall > 0}>
          <p class="note note-warning">
            <Alert />
            <span>{words.batch.falls(plan.fall)}</span>
          </p>
        </Show>
        <Show when={props.verdict === "deny" && count > 0}>
          <GrowingField label={words.batch.reason} placeholder={words.batch.reasonHint} value={reason()} write={setReason} send={confirm} ref={(element) => (field = element)} />
        </Show>
        <div class="dialog-buttons">
          <button type="button" onClick={() => dialog?.close()}>
            {words.cancel}
          </button>
          <Show when={count > 0}>
            <button ref={(element) => (button = element)} type="submit" class={props.verdict === "allow" ? "primary" : "danger"}>
              {props.verdict === "allow" ? words.batch.confirmAllow(count) : words.batch.confirmDeny(count)}
            </button>
          </Show>
        </div>
      </form>
    </dialog>
  );
}

/** An ask by what it wants, whole, and where it comes from. */
function Named(props: { ask: AskView; why?: string }) {
  const session = () => visible(ledger().sessions[props.ask.session]?.title || props.ask.session);
  return (
    <li>
      <span class="batch-what">
        <AskIcon ask={props.ask} />
        <span>
          <Visible text={props.ask.requester} /> {wantOf(props.ask)}
        </span>
      </span>
      <code>
        <Visible text={props.ask.summary} />
      </code>
      <span class="muted">
        {session()} · {visible(workspaceName(props.ask.workspace))}
        <Show when={props.why}>{(why) => <> · {why()}</>}</Show>
      </span>
    </li>
  );
}

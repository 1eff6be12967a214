/* Makes a rule of an ask: what it will match, how far it reaches, and how long it lasts. */
import { createSignal, createUniqueId, For, onMount, Show } from "solid-js";
import type { AskView, PermissionSubject, Scope } from "../api/types.ts";
import { allowAlways, LIVES, suggestedPattern, takesPattern } from "../state/answer-request.ts";
import { ledger } from "../state/live.ts";
import { Alert } from "./icons.tsx";
import { Targets } from "./shown.tsx";
import { Visible } from "./visible.tsx";

export function AlwaysDialog(props: {
  ask: AskView;
  subject: PermissionSubject;
  send: (request: ReturnType<typeof allowAlways>) => void;
  close: () => void;
}) {
  const title = createUniqueId();
  const [scope, setScope] = createSignal<Scope>("session");
  const [life, setLife] = createSignal(0);
  const [isLike, setLike] = createSignal(false);
  const [pattern, setPattern] = createSignal(suggestedPattern(props.subject.targets));
  const reach = () => (isLike() ? { like: pattern() } : "exactly");
  let dialog: HTMLDialogElement | undefined;
  onMount(() => dialog?.showModal());
  const workspace = () => ledger().workspaces.find((known) => known.id === props.ask.workspace)?.name ?? "this workspace";
  const session = () => ledger().sessions[props.ask.session]?.title ?? "";
  const matches = () =>
    props.subject.tool === "bash" ? "exactly this command" : `exactly ${props.subject.targets.length === 1 ? "this" : "these"}`;
  return (
    <dialog ref={(element) => (dialog = element)} aria-labelledby={title} onClose={() => props.close()}>
      <form method="dialog" onSubmit={() => props.send(allowAlways(scope(), reach(), LIVES[life()]?.seconds))}>
        <h2 id={title}>Always allow</h2>
        <p>
          From now on <code>{props.subject.tool}</code> is allowed{" "}
          <Show when={isLike()} fallback={<>for {matches()}, to the letter, and for nothing else:</>}>
            for everything like the pattern below, this among it:
          </Show>
        </p>
        <Targets targets={props.subject.targets} />
        <Show when={props.subject.shown.some((part) => part.kind === "diff")}>
          <p class="note note-warning">
            <Alert />
            <span>A rule looks at the tool and the path alone: every later change there will be allowed, whatever it is.</span>
          </p>
        </Show>
        <Show when={takesPattern(props.subject)}>
          <fieldset>
            <legend>What</legend>
            <label class="choice">
              <input type="radio" name="reach" checked={!isLike()} onChange={() => setLike(false)} />
              <span>Exactly this</span>
            </label>
            <label class="choice">
              <input type="radio" name="reach" checked={isLike()} onChange={() => setLike(true)} />
              <span>
                Everything like a pattern
                <small>
                  <code>*</code> stays in one folder, <code>**</code> does not
                </small>
              </span>
            </label>
            <Show when={isLike()}>
              <input
                type="text"
                class="code"
                aria-label="Pattern"
                required
                maxLength={4096}
                spellcheck={false}
                autocapitalize="off"
                value={pattern()}
                onInput={(event) => setPattern(event.currentTarget.value)}
              />
            </Show>
          </fieldset>
        </Show>
        <fieldset>
          <legend>Where</legend>
          <label class="choice">
            <input type="radio" name="scope" checked={scope() === "session"} onChange={() => setScope("session")} />
            <span>
              This session
              <small>
                <Visible text={session()} />
              </small>
            </span>
          </label>
          <label class="choice">
            <input type="radio" name="scope" checked={scope() === "workspace"} onChange={() => setScope("workspace")} />
            <span>
              This workspace
              <small>
                Every session in <Visible text={workspace()} />
              </small>
            </span>
          </label>
        </fieldset>
        <fieldset>
          <legend>How long</legend>
          <div class="choices-row">
            <For each={LIVES}>
              {(each, index) => (
                <label class="choice">
                  <input type="radio" name="life" checked={life() === index()} onChange={() => setLife(index())} />
                  <span>{each.name}</span>
                </label>
              )}
            </For>
          </div>
        </fieldset>
        <div class="dialog-buttons">
          <button type="button" onClick={() => dialog?.close()}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Always allow
          </button>
        </div>
      </form>
    </dialog>
  );
}

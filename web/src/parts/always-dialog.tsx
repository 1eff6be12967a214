/* Makes a rule of an ask: what it will match and what else it would have matched, how far it reaches, how long it lasts. */
import { createSignal, createUniqueId, For, onMount, Show } from "solid-js";
import type { AskView, PermissionSubject, RulePreviewRequest, Scope } from "../api/types.ts";
import { allowAlways, folderOf, LIVES, suggestedPattern, takesPattern } from "../state/answer-request.ts";
import { ledger } from "../state/live.ts";
import { visible } from "../text/visible.ts";
import { words } from "../text/words.ts";
import { Alert } from "./icons.tsx";
import { workspaceName } from "./requester.tsx";
import { RulePreview } from "./rule-preview.tsx";
import { Sentence } from "./sentence.tsx";
import { Targets } from "./shown.tsx";
import { Visible } from "./visible.tsx";

export function AlwaysDialog(props: {
  ask: AskView;
  subject: PermissionSubject;
  /** `others` are open asks that the rule would match and that are to be allowed with it. */
  send: (request: ReturnType<typeof allowAlways>, others: readonly string[]) => void;
  close: () => void;
}) {
  const title = createUniqueId();
  const [scope, setScope] = createSignal<Scope>("session");
  const [life, setLife] = createSignal(0);
  const [isLike, setLike] = createSignal(false);
  const [pattern, setPattern] = createSignal(suggestedPattern(props.subject));
  const [others, setOthers] = createSignal<readonly string[]>([]);
  const [settlesOthers, setSettlesOthers] = createSignal(false);
  const reach = () => (isLike() ? { like: pattern() } : "exactly");
  let dialog: HTMLDialogElement | undefined;
  onMount(() => dialog?.showModal());
  const session = () => ledger().sessions[props.ask.session]?.title ?? "";
  const rule = (): RulePreviewRequest => ({
    workspace: props.ask.workspace,
    ...(scope() === "session" ? { session: props.ask.session } : {}),
    tool: props.subject.tool,
    ...(isLike() ? { match: "glob", pattern: pattern() } : { match: "exact", targets: props.subject.targets, ...folderOf(props.subject) }),
  });
  const matches = () => {
    if (isLike()) return words.rule.like;
    return props.subject.tool === "bash" ? words.rule.command : words.rule.exact(props.subject.targets.length);
  };
  return (
    <dialog class="rule-dialog" ref={(element) => (dialog = element)} aria-labelledby={title} onClose={() => props.close()}>
      <form
        method="dialog"
        onSubmit={() => props.send(allowAlways(scope(), reach(), LIVES[life()]?.seconds), settlesOthers() ? others() : [])}
      >
        <h2 id={title}>{words.rule.title}</h2>
        <p>
          <Sentence text={words.rule.from(visible(props.subject.tool))} /> {matches()}
        </p>
        <Targets targets={props.subject.targets} />
        <Show when={props.subject.shown.some((part) => part.kind === "diff")}>
          <p class="note note-warning">
            <Alert />
            <span>{words.rule.anyChange}</span>
          </p>
        </Show>
        <Show when={takesPattern(props.subject)}>
          <fieldset>
            <legend>{words.rule.what}</legend>
            <label class="choice">
              <input type="radio" name="reach" checked={!isLike()} onChange={() => setLike(false)} />
              <span>{words.rule.exactly}</span>
            </label>
            <label class="choice">
              <input type="radio" name="reach" checked={isLike()} onChange={() => setLike(true)} />
              <span>
                {words.rule.pattern}
                <small>
                  <Sentence text={words.rule.patternHint} />
                </small>
              </span>
            </label>
            <Show when={isLike()}>
              <input
                type="text"
                class="code"
                aria-label={words.rule.patternLabel}
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
          <legend>{words.rule.where}</legend>
          <label class="choice">
            <input type="radio" name="scope" checked={scope() === "session"} onChange={() => setScope("session")} />
            <span>
              {words.rule.session}
              <small>
                <Visible text={session()} />
              </small>
            </span>
          </label>
          <label class="choice">
            <input type="radio" name="scope" checked={scope() === "workspace"} onChange={() => setScope("workspace")} />
            <span>
              {words.rule.workspace}
              <small>{words.rule.everySession(visible(workspaceName(props.ask.workspace)))}</small>
            </span>
          </label>
        </fieldset>
        <fieldset>
          <legend>{words.rule.howLong}</legend>
          <div class="choices-row">
            <For each={LIVES}>
              {(each, index) => (
                <label class="choice">
                  <input type="radio" name="life" checked={life() === index()} onChange={() => setLife(index())} />
                  <span>{words.rule.lives[each.name]}</span>
                </label>
              )}
            </For>
          </div>
        </fieldset>
        <RulePreview rule={rule()} ask={props.ask.id} open={setOthers} />
        <Show when={others().length > 0}>
          <label class="choice">
            <input type="checkbox" checked={settlesOthers()} onChange={(event) => setSettlesOthers(event.currentTarget.checked)} />
            <span>{words.rule.settleOpen(others().length)}</span>
          </label>
        </Show>
        <div class="dialog-buttons">
          <button type="button" onClick={() => dialog?.close()}>
            {words.cancel}
          </button>
          <button type="submit" class="primary">
            {words.rule.submit}
          </button>
        </div>
      </form>
    </dialog>
  );
}

/* The ways to answer a permission: allow once, always, deny with a reason. */
import { createSignal, For, Show } from "solid-js";
import type { AnswerRequest, AskView, PermissionSubject } from "../api/types.ts";
import { allowOnce, deny, ownOptions, pick, tone } from "../state/answer-request.ts";
import { attemptOf, sendAnswer } from "../state/answering.ts";
import { createArmed } from "../state/arming.ts";
import { bindKeys } from "../state/keys.ts";
import { AlwaysDialog } from "./always-dialog.tsx";
import { Failure, SiblingWarning } from "./answer-notes.tsx";
import { GrowingField } from "./growing-field.tsx";

export function AnswerBar(props: { ask: AskView; subject: PermissionSubject; siblings: number; hasKeys: boolean }) {
  const [reason, setReason] = createSignal("");
  const [isChoosing, setChoosing] = createSignal(false);
  const armed = createArmed(() => props.ask.id);
  const ready = () => armed() && attemptOf(props.ask.id)?.kind !== "sending";
  const canAlways = () => props.subject.targets.length > 0;
  let field: HTMLTextAreaElement | undefined;
  let allow: HTMLButtonElement | undefined;

  const send = (request: AnswerRequest) => {
    if (ready()) void sendAnswer(props.ask.id, request);
  };
  const choose = () => {
    if (ready() && canAlways()) setChoosing(true);
  };
  // A key answers what its buttons are seen for; otherwise it brings them into sight.
  const inSight = (act: () => void) => () => {
    if (allow !== undefined && isInSight(allow)) act();
    else allow?.scrollIntoView({ block: "center" });
  };
  bindKeys(() =>
    props.hasKeys
      ? { allow: inSight(() => send(allowOnce())), always: inSight(choose), deny: () => field?.focus() }
      : {},
  );

  return (
    <fieldset class="answer-bar" classList={{ "answer-bar-keyless": !props.hasKeys }}>
      <legend class="unseen">Answer</legend>
      <Failure ask={props.ask.id} />
      <SiblingWarning count={props.siblings} />
      <div class="answer-row">
        <div class="answer-yes">
          <button
            type="button"
            class="primary"
            aria-disabled={!ready()}
            ref={(element) => (allow = element)}
            onClick={() => send(allowOnce())}
          >
            Allow once <kbd aria-hidden="true">a</kbd>
          </button>
          <Show when={canAlways()}>
            <button type="button" aria-disabled={!ready()} aria-haspopup="dialog" onClick={choose}>
              Always for… <kbd aria-hidden="true">A</kbd>
            </button>
          </Show>
        </div>
        <form
          class="answer-no"
          onSubmit={(event) => {
            event.preventDefault();
            send(deny(reason()));
          }}
        >
          <GrowingField
            label="Reason for denying; the agent reads it"
            placeholder="Tell the agent why…"
            value={reason()}
            write={setReason}
            send={() => send(deny(reason()))}
            ref={(element) => (field = element)}
          />
          <button type="submit" class="danger" aria-disabled={!ready()}>
            Deny <kbd aria-hidden="true">d</kbd>
          </button>
        </form>
      </div>
      <Show when={ownOptions(props.ask).length > 0}>
        <fieldset class="answer-own">
          <legend>The agent's own options</legend>
          <For each={ownOptions(props.ask)}>
            {(option) => (
              <button
                type="button"
                class={tone(option)}
                aria-disabled={!ready()}
                onClick={() => send(pick(option, reason()))}
              >
                {option.name}
              </button>
            )}
          </For>
        </fieldset>
      </Show>
      <Show when={isChoosing()}>
        <AlwaysDialog ask={props.ask} subject={props.subject} send={send} close={() => setChoosing(false)} />
      </Show>
    </fieldset>
  );
}

/** Whether a person could press the element where it is now. */
function isInSight(element: Element): boolean {
  const { x, y, width, height } = element.getBoundingClientRect();
  const hit = document.elementFromPoint(x + width / 2, y + height / 2);
  return hit !== null && element.contains(hit);
}

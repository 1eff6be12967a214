/* The ways to answer a permission: allow once, always, deny with a reason. */
import { createSignal, For, Show } from "solid-js";
import type { AnswerRequest, AskView, OfferedOption, PermissionSubject } from "../api/types.ts";
import { allowOnce, canAllow, canDeny, deny, onlyOption, ownOptions, pick, tone } from "../state/answer-request.ts";
import { attemptOf, sendAnswer } from "../state/answering.ts";
import { createArmed } from "../state/arming.ts";
import { bindKeys } from "../state/keys.ts";
import { reasonHint } from "../text/phrases.ts";
import { AlwaysDialog } from "./always-dialog.tsx";
import { Failure, SiblingWarning } from "./answer-notes.tsx";
import { GrowingField } from "./growing-field.tsx";
import { Visible } from "./visible.tsx";

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
      ? {
          ...(canAllow(props.ask) ? { allow: inSight(() => send(allowOnce())) } : {}),
          always: inSight(choose),
          deny: () => field?.focus(),
        }
      : {},
  );

  return (
    <fieldset class="answer-bar" classList={{ "answer-bar-keyless": !props.hasKeys }}>
      <legend class="unseen">Answer</legend>
      <Failure ask={props.ask.id} />
      <SiblingWarning count={props.siblings} />
      <div class="answer-row">
        <div class="answer-yes">
          <Show when={canAllow(props.ask)}>
            <button
              type="button"
              class="primary"
              aria-disabled={!ready()}
              ref={(element) => (allow = element)}
              onClick={() => send(allowOnce())}
            >
              Allow once <OwnName option={onlyOption(props.ask, "allow_once")} /> <kbd aria-hidden="true">a</kbd>
            </button>
          </Show>
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
            if (canDeny(props.ask)) send(deny(reason()));
          }}
        >
          <GrowingField
            label={reasonHint(props.ask.door, "denying").label}
            placeholder={reasonHint(props.ask.door, "denying").placeholder}
            value={reason()}
            write={setReason}
            send={() => canDeny(props.ask) && send(deny(reason()))}
            ref={(element) => (field = element)}
          />
          <Show when={canDeny(props.ask)}>
            <button type="submit" class="danger" aria-disabled={!ready()}>
              Deny <OwnName option={onlyOption(props.ask, "deny")} /> <kbd aria-hidden="true">d</kbd>
            </button>
          </Show>
        </form>
      </div>
      <Show when={onlyOption(props.ask, "deny")?.note}>{(note) => <p class="answer-note">{note()}</p>}</Show>
      <Show when={ownOptions(props.ask).length > 0}>
        <fieldset class="answer-own">
          <legend>The agent's own options</legend>
          <For each={ownOptions(props.ask)}>
            {(option, index) => {
              const noteId = () => `note-${props.ask.id}-${index()}`;
              return (
                <div class="answer-option">
                  <button
                    type="button"
                    class={tone(option)}
                    aria-disabled={!ready()}
                    aria-describedby={option.note === undefined ? undefined : noteId()}
                    onClick={() => send(pick(option, reason()))}
                  >
                    {MEANINGS[option.kind]} <OwnName option={option} />
                  </button>
                  <Show when={option.note}>
                    {(note) => (
                      <span class="answer-note" id={noteId()}>
                        {note()}
                      </span>
                    )}
                  </Show>
                </div>
              );
            }}
          </For>
        </fieldset>
      </Show>
      <Show when={isChoosing()}>
        <AlwaysDialog ask={props.ask} subject={props.subject} send={send} close={() => setChoosing(false)} />
      </Show>
    </fieldset>
  );
}

/** What an option means. The agent chooses its name, and a name may say anything: so the meaning stands before it. */
const MEANINGS: Readonly<Record<OfferedOption["kind"], string>> = {
  allow_once: "Allow once",
  allow_always: "Let the agent remember",
  deny: "Deny",
  deny_always: "Deny for good",
  other: "Other",
};

/** What the agent calls an option. */
function OwnName(props: { option: OfferedOption | undefined }) {
  return (
    <Show when={props.option}>
      {(option) => (
        <span class="own-name">
          “<Visible text={option().name} />”
        </span>
      )}
    </Show>
  );
}

/** Whether a person could press the element where it is now. */
function isInSight(element: Element): boolean {
  const { x, y, width, height } = element.getBoundingClientRect();
  const hit = document.elementFromPoint(x + width / 2, y + height / 2);
  return hit !== null && element.contains(hit);
}

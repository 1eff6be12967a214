/* The ways to answer a permission or a write: allow once, always (a permission alone), deny with a reason. */
import { createSignal, For, Show } from "solid-js";
import type { AnswerRequest, AskView, OfferedOption, PermissionSubject, WriteSubject } from "../api/types.ts";
import { allowOnce, canAllow, canDeny, deny, onlyOption, ownOptions, pick, takesRule, tone } from "../state/answer-request.ts";
import { attemptOf, give } from "../state/answering.ts";
import { createArmed } from "../state/arming.ts";
import { bindKeys } from "../state/keys.ts";
import { reasonHint } from "../text/phrases.ts";
import { words } from "../text/words.ts";
import { AlwaysDialog } from "./always-dialog.tsx";
import { Failure, SiblingWarning } from "./answer-notes.tsx";
import { GrowingField } from "./growing-field.tsx";
import { Visible } from "./visible.tsx";

/** `together` are the ids of those that one answer goes to, this one among them; what only fits this one goes to it alone. */
export function AnswerBar(props: {
  ask: AskView;
  together: readonly string[];
  subject: PermissionSubject | WriteSubject;
  siblings: number;
  hasKeys: boolean;
}) {
  const [reason, setReason] = createSignal("");
  const [isChoosing, setChoosing] = createSignal(false);
  // One that has just joined those that are alike holds the answer back as a new ask does.
  const armed = createArmed(() => [props.ask.id, ...props.together].join(" "));
  const ready = () => armed() && attemptOf(props.ask.id)?.kind !== "sending";
  const lasting = () => (props.subject.kind === "permission" && takesRule(props.subject) ? props.subject : undefined);
  let field: HTMLTextAreaElement | undefined;
  let allow: HTMLButtonElement | undefined;

  const send = (request: AnswerRequest, alone = false) => {
    if (ready()) give(alone ? [props.ask.id] : props.together, request);
  };
  const sendAlways = (request: AnswerRequest, others: readonly string[]) => {
    if (!ready()) return;
    give([props.ask.id], request);
    if (others.length > 0) give(others, allowOnce());
  };
  const count = () => props.together.length;
  const choose = () => {
    if (ready() && lasting() !== undefined) setChoosing(true);
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
      <legend class="unseen">{words.answer.legend}</legend>
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
              {count() > 1 ? words.group.allow(count()) : words.answer.allowOnce} <OwnName option={onlyOption(props.ask, "allow_once")} />{" "}
              <kbd aria-hidden="true">a</kbd>
            </button>
          </Show>
          <Show when={lasting()}>
            <button type="button" aria-disabled={!ready()} aria-haspopup="dialog" onClick={choose}>
              {words.answer.always} <kbd aria-hidden="true">A</kbd>
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
              {count() > 1 ? words.group.deny(count()) : words.answer.deny} <OwnName option={onlyOption(props.ask, "deny")} />{" "}
              <kbd aria-hidden="true">d</kbd>
            </button>
          </Show>
        </form>
      </div>
      <Show when={onlyOption(props.ask, "deny")?.note}>{(note) => <p class="answer-note">{note()}</p>}</Show>
      <Show when={ownOptions(props.ask).length > 0}>
        <fieldset class="answer-own">
          <legend>{words.answer.ownOptions}</legend>
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
                    onClick={() => send(pick(option, reason()), true)}
                  >
                    {words.answer.meanings[option.kind]} <OwnName option={option} />
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
      <Show when={isChoosing() && lasting()}>
        {(subject) => <AlwaysDialog ask={props.ask} subject={subject()} send={sendAlways} close={() => setChoosing(false)} />}
      </Show>
    </fieldset>
  );
}

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

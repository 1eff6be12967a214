/* The ways to answer a question: what is offered, own words, or not at all. */
import { createSignal, createUniqueId, For, Show } from "solid-js";
import type { AnswerRequest, AskView, Question, QuestionSubject } from "../api/types.ts";
import { choices, deny, numbered, picked, type Filled } from "../state/answer-request.ts";
import { attemptOf, give } from "../state/answering.ts";
import { createArmed } from "../state/arming.ts";
import { bindKeys } from "../state/keys.ts";
import { reasonHint } from "../text/phrases.ts";
import { words } from "../text/words.ts";
import { Failure, SiblingWarning } from "./answer-notes.tsx";
import { GrowingField } from "./growing-field.tsx";
import { Visible } from "./visible.tsx";

export function QuestionForm(props: { ask: AskView; subject: QuestionSubject; siblings: number; hasKeys: boolean }) {
  const [filled, setFilled] = createSignal<readonly Filled[]>(props.subject.questions.map(() => ({ chosen: [], text: "" })));
  const [reason, setReason] = createSignal("");
  const armed = createArmed(() => props.ask.id);
  const isSending = () => attemptOf(props.ask.id)?.kind === "sending";
  const answer = () => choices(props.subject.questions, filled());
  let decline: HTMLTextAreaElement | undefined;

  const send = (request: AnswerRequest) => {
    if (armed() && !isSending()) give([props.ask.id], request);
  };
  const sendChoices = () => {
    const made = answer();
    if ("request" in made) send(made.request);
  };
  bindKeys(() =>
    props.hasKeys
      ? {
          choose: (key) => setFilled(numbered(props.subject.questions, filled(), Number(key))),
          allow: sendChoices,
          deny: () => decline?.focus(),
        }
      : {},
  );

  return (
    <div class="question">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          sendChoices();
        }}
      >
        <For each={props.subject.questions}>
          {(question, index) => (
            <Part
              question={question}
              filled={filled()[index()] ?? { chosen: [], text: "" }}
              put={(part) => setFilled(filled().with(index(), part))}
              send={sendChoices}
            />
          )}
        </For>
        <fieldset class="answer-bar">
          <legend class="unseen">{words.answer.legend}</legend>
          <Failure ask={props.ask.id} />
          <SiblingWarning count={props.siblings} />
          <div class="answer-row">
            <button type="submit" class="primary" aria-disabled={!armed() || isSending() || "missing" in answer()}>
              {words.question.send}
            </button>
            <div class="answer-no">
              <GrowingField
                label={reasonHint(props.ask.door, "declining").label}
                placeholder={reasonHint(props.ask.door, "declining").placeholder}
                value={reason()}
                write={setReason}
                send={() => send(deny(reason()))}
                ref={(element) => (decline = element)}
              />
              <button type="button" class="danger" aria-disabled={!armed() || isSending()} onClick={() => send(deny(reason()))}>
                {words.question.decline}
              </button>
            </div>
          </div>
        </fieldset>
      </form>
    </div>
  );
}

function Part(props: { question: Question; filled: Filled; put: (filled: Filled) => void; send: () => void }) {
  const group = createUniqueId();
  const pick = (label: string, on: boolean) => props.put(picked(props.question, props.filled, label, on));
  const write = (text: string) =>
    props.put({ chosen: props.question.multiple || text.trim() === "" ? props.filled.chosen : [], text });
  return (
    <fieldset class="question-part">
      <legend>
        <Visible text={props.question.header} />
      </legend>
      <QuestionText question={props.question} />
      <For each={props.question.options}>
        {(option, index) => (
          <label class="choice">
            <span class="choice-number" aria-hidden="true">
              {index() + 1}
            </span>
            <input
              type={props.question.multiple ? "checkbox" : "radio"}
              name={group}
              checked={props.filled.chosen.includes(option.label)}
              onChange={(event) => pick(option.label, event.currentTarget.checked)}
            />
            <span>
              <Visible text={option.label} />
              <Show when={option.description !== ""}>
                <small>
                  <Visible text={option.description} />
                </small>
              </Show>
            </span>
          </label>
        )}
      </For>
      <GrowingField
        label={words.question.ownWords(props.question.header)}
        placeholder={props.question.multiple ? words.question.otherAsWell : words.question.other}
        value={props.filled.text}
        write={write}
        send={props.send}
      />
    </fieldset>
  );
}

function QuestionText(props: { question: Question }) {
  return (
    <p class="question-text">
      <Visible text={props.question.question} />
      <Show when={props.question.multiple}>
        <span class="muted"> {words.question.several}</span>
      </Show>
    </p>
  );
}

/** A question that is over or that this reader may not answer: its parts, to read. */
export function QuestionParts(props: { subject: QuestionSubject }) {
  return (
    <For each={props.subject.questions}>
      {(question) => (
        <section class="question-part">
          <h3>
            <Visible text={question.header} />
          </h3>
          <QuestionText question={question} />
          <ul class="offered">
            <For each={question.options}>
              {(option) => (
                <li>
                  <Visible text={option.label} />
                  <Show when={option.description !== ""}>
                    <small>
                      <Visible text={option.description} />
                    </small>
                  </Show>
                </li>
              )}
            </For>
          </ul>
        </section>
      )}
    </For>
  );
}

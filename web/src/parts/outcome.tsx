/* How an ask ended, or how far its answer has come: what the ledger says, step by step. */
import { For, Match, Show, Switch } from "solid-js";
import type { Answer, AskView, Door } from "../api/types.ts";
import { attemptOf } from "../state/answering.ts";
import { me } from "../state/identity.ts";
import { evidenceOf, giverOf, isYes, tellsReasons, verdictOf } from "../text/phrases.ts";
import { Alert, Check, Clock, Cross } from "./icons.tsx";
import { Sentence } from "./sentence.tsx";
import { At } from "./time.tsx";
import { Visible } from "./visible.tsx";

export function Outcome(props: { ask: AskView }) {
  return (
    <div class="outcome" aria-live="polite">
      <Show when={attemptOf(props.ask.id)?.kind === "late"}>
        <p class="note note-warning">
          <Alert />
          <span>
            <Show when={props.ask.answer} fallback="Your answer came too late: the ask was over.">
              {(answer) => (
                <>
                  Your answer came second. <strong>{giverOf(answer(), me())}</strong> had said:{" "}
                  <strong>{verdictOf(answer())}</strong>. That stands.
                </>
              )}
            </Show>
          </span>
        </p>
      </Show>
      <ol class="steps">
        <Show when={props.ask.answer}>{(answer) => <Said answer={answer()} door={props.ask.door} />}</Show>
        <Switch>
          <Match when={props.ask.state === "answered"}>
            <li class="step step-pending">
              <Clock />
              <div>
                <strong>On its way to the engine</strong>
                <Show when={(props.ask.delivery?.attempts ?? 0) > 1}>
                  <span class="muted"> · attempt {props.ask.delivery?.attempts}</span>
                </Show>
              </div>
            </li>
          </Match>
          <Match when={props.ask.state === "delivered"}>
            <Delivered ask={props.ask} />
          </Match>
          <Match when={props.ask.state === "undeliverable"}>
            <Ended title="Not delivered" why={props.ask.why} />
          </Match>
          <Match when={props.ask.state === "expired"}>
            <Ended title="Expired" why={props.ask.why} at={props.ask.ended_at} />
          </Match>
          <Match when={props.ask.state === "withdrawn"}>
            <Ended title="Withdrawn" why={props.ask.why} at={props.ask.ended_at} />
          </Match>
        </Switch>
      </ol>
    </div>
  );
}

function Said(props: { answer: Answer; door: Door }) {
  return (
    <li class="step" classList={{ "step-yes": isYes(props.answer), "step-no": !isYes(props.answer) }}>
      <Show when={isYes(props.answer)} fallback={<Cross />}>
        <Check />
      </Show>
      <div>
        <strong>
          {verdictOf(props.answer)} by {giverOf(props.answer, me())}
        </strong>
        <span class="muted">
          {" "}
          · <At at={props.answer.at} />
        </span>
        <Switch>
          <Match when={props.answer.answer === "deny" && props.answer.reason}>
            {(reason) => (
              <>
                <blockquote>
                  <Visible text={reason()} />
                </blockquote>
                <Show when={!tellsReasons(props.door)}>
                  <p class="muted">The agent does not get to read the reason: only its editor talks to it.</p>
                </Show>
              </>
            )}
          </Match>
          <Match when={props.answer.answer === "allow_always" ? props.answer : undefined}>
            {(always) => (
              <>
                <Show when={always().pattern}>
                  {(pattern) => (
                    <p class="muted">
                      Everything like{" "}
                      <code>
                        <Visible text={pattern()} />
                      </code>
                      .
                    </p>
                  )}
                </Show>
                <Show when={always().expires_at}>
                  {(end) => (
                    <p class="muted">
                      The rule ends <At at={end()} />.
                    </p>
                  )}
                </Show>
              </>
            )}
          </Match>
          <Match when={props.answer.answer === "choices" && props.answer.choices}>
            {(choices) => (
              <ul class="said">
                <For each={choices()}>
                  {(part) => (
                    <li>
                      <Visible text={part.join(", ")} />
                    </li>
                  )}
                </For>
              </ul>
            )}
          </Match>
        </Switch>
      </div>
    </li>
  );
}

function Delivered(props: { ask: AskView }) {
  const proof = () => (props.ask.delivery?.state === "delivered" ? props.ask.delivery : undefined);
  return (
    <li class="step step-yes">
      <Check />
      <div>
        <strong>Delivered</strong>
        <Show when={proof()}>
          {(delivered) => (
            <span class="muted">
              {" "}
              · {evidenceOf(delivered().evidence)} · <At at={delivered().at} />
            </span>
          )}
        </Show>
      </div>
    </li>
  );
}

function Ended(props: { title: string; why: string | undefined; at?: string | undefined }) {
  return (
    <li class="step step-ended">
      <Alert />
      <div>
        <strong>{props.title}</strong>
        <Show when={props.why}>{(why) => (
            <>
              : <Sentence text={why()} />
            </>
          )}</Show>
        <Show when={props.at}>
          {(at) => (
            <span class="muted">
              {" "}
              · <At at={at()} />
            </span>
          )}
        </Show>
      </div>
    </li>
  );
}

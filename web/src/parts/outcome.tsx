/* How an ask ended, or how far its answer has come: what the ledger says, step by step. */
import { For, Match, Show, Switch } from "solid-js";
import type { Answer, AskView, Door } from "../api/types.ts";
import { attemptOf } from "../state/answering.ts";
import { me } from "../state/identity.ts";
import { capital, carrying, evidenceOf, giverOf, isYes, tellsReasons, untoldReason, verdictOf } from "../text/phrases.ts";
import { words } from "../text/words.ts";
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
            <Show when={props.ask.answer} fallback={words.outcome.tooLate}>
              {(answer) => (
                <>
                  {words.outcome.second} <strong>{giverOf(answer(), me())}</strong> {words.outcome.hadSaid}{" "}
                  <strong>{verdictOf(answer())}</strong>. {words.outcome.stands}
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
                <strong>{props.ask.door === "workspace" ? words.outcome.beingWritten : words.outcome.onItsWay}</strong>
                <Show when={(props.ask.delivery?.attempts ?? 0) > 1}>
                  <span class="muted"> · {words.outcome.attempt(props.ask.delivery?.attempts ?? 0)}</span>
                </Show>
              </div>
            </li>
          </Match>
          <Match when={props.ask.state === "delivered"}>
            <Delivered ask={props.ask} />
          </Match>
          <Match when={props.ask.state === "undeliverable"}>
            <Ended title={capital(carrying(props.ask).failed)} why={props.ask.why} />
          </Match>
          <Match when={props.ask.state === "expired"}>
            <Ended title={words.outcome.expired} why={props.ask.why} at={props.ask.ended_at} />
          </Match>
          <Match when={props.ask.state === "withdrawn"}>
            <Ended title={words.outcome.withdrawn} why={props.ask.why} at={props.ask.ended_at} />
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
          {words.outcome.by(verdictOf(props.answer), giverOf(props.answer, me()))}
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
                  <p class="muted">{untoldReason(props.door)}</p>
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
                      {words.outcome.like}{" "}
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
                      {words.outcome.ruleEnds} <At at={end()} />.
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
        <strong>{capital(carrying(props.ask).done)}</strong>
        <Show when={proof()}>
          {(delivered) => (
            <span class="muted">
              {" "}
              · <Show when={delivered().evidence.kind !== "nothing_written"}>{evidenceOf(delivered().evidence)} · </Show>
              <At at={delivered().at} />
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

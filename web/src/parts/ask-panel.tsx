/* One ask: what is wanted, whole; who wants it; and the answers, or how it ended. */
import { createUniqueId, For, Match, Show, Switch, type JSX } from "solid-js";
import type { AskView, PermissionSubject, QuestionSubject, WriteSubject } from "../api/types.ts";
import { fragmentOf } from "../router.ts";
import { ledger } from "../state/live.ts";
import { siblingsOf } from "../state/ledger.ts";
import type { Row } from "../state/grouping.ts";
import { openIn } from "../state/grouping.ts";
import { attemptOf } from "../state/answering.ts";
import { words } from "../text/words.ts";
import { wantOf } from "../text/wants.ts";
import { AnswerBar } from "./answer-bar.tsx";
import { MissingGrant } from "./answer-notes.tsx";
import { AskIcon } from "./ask-icon.tsx";
import { GroupBox } from "./group-box.tsx";
import { HeldNote } from "./held.tsx";
import { Clock } from "./icons.tsx";
import { LastWords } from "./last-words.tsx";
import { Outcome } from "./outcome.tsx";
import { QuestionForm, QuestionParts } from "./question-form.tsx";
import { Requester } from "./requester.tsx";
import { ShownParts, WriteParts } from "./shown.tsx";
import { At, Countdown, Waiting } from "./time.tsx";
import { Visible } from "./visible.tsx";
import { WhyAsked } from "./why-asked.tsx";

/** `within` names the session in whose transcript the ask is shown, if it is; `row` are those that it is answered with. */
export function AskPanel(props: { ask: AskView; hasKeys: boolean; within?: string; row?: Row | undefined; after?: JSX.Element }) {
  const title = createUniqueId();
  const permission = () => (props.ask.subject.kind === "permission" ? props.ask.subject : undefined);
  const question = () => (props.ask.subject.kind === "question" ? props.ask.subject : undefined);
  const write = () => (props.ask.subject.kind === "workspace_write" ? props.ask.subject : undefined);
  const isOpen = () => props.ask.state === "open";
  const canAnswer = () => isOpen() && props.ask.may_answer;
  const together = () => (props.row === undefined ? [props.ask.id] : openIn(props.row));
  const siblings = () => {
    const own = new Set(together());
    const asks = together().flatMap((id) => ledger().asks[id] ?? []);
    return new Set(asks.flatMap((ask) => siblingsOf(ledger(), ask)).filter((id) => !own.has(id))).size;
  };
  return (
    <article class="ask" aria-labelledby={title} data-ask={props.ask.id} data-state={props.ask.state}>
      <header class="ask-head">
        <h2 id={title}>
          <AskIcon ask={props.ask} />
          <span>
            <Visible text={props.ask.requester} /> {wantOf(props.ask)}
          </span>
        </h2>
        <Show when={isOpen()}>
          <span class="ask-times">
            <span class="chip chip-waiting">
              <Clock /> <span class="unseen">{words.time.waiting} </span>
              <Waiting from={props.ask.opened_at} />
            </span>
            <Countdown ask={props.ask} />
          </span>
        </Show>
        <Show when={props.within !== props.ask.session}>
          <Requester ask={props.ask} />
        </Show>
      </header>
      <div class="ask-body">
        <Show when={permission()}>{(subject) => <ShownParts ask={props.ask} subject={subject()} />}</Show>
        <Show when={props.row}>{(row) => <GroupBox row={row()} current={props.ask.id} />}</Show>
        <Show when={write()}>{(subject) => <WriteParts ask={props.ask} subject={subject()} />}</Show>
        <Show when={!canAnswer() && question()}>{(subject) => <QuestionParts subject={subject()} />}</Show>
        <Show when={canAnswer() && question()}>
          {(subject) => (
            <QuestionForm ask={props.ask} subject={subject() as QuestionSubject} siblings={siblings()} hasKeys={props.hasKeys} />
          )}
        </Show>
        <Show when={props.within === undefined && write() === undefined}>
          <LastWords ask={props.ask} />
        </Show>
        <Show
          when={props.within !== undefined}
          fallback={
            <>
              <WhyAsked ask={props.ask} />
              <Facts ask={props.ask} />
            </>
          }
        >
          <details class="more">
            <summary>{words.facts.more}</summary>
            <WhyAsked ask={props.ask} />
            <Facts ask={props.ask} />
          </details>
        </Show>
      </div>
      <Switch>
        <Match when={!isOpen()}>
          <footer class="ask-foot">
            <Outcome ask={props.ask} />
            {props.after}
          </footer>
        </Match>
        <Match when={attemptOf(props.ask.id)?.kind === "held"}>
          <footer class="ask-foot">
            <HeldNote ask={props.ask.id} />
          </footer>
        </Match>
        <Match when={!props.ask.may_answer}>
          <footer class="ask-foot">
            <MissingGrant ask={props.ask} />
          </footer>
        </Match>
        <Match when={permission() ?? write()}>
          {(subject) => (
            <footer class="ask-foot">
              <AnswerBar
                ask={props.ask}
                together={together()}
                subject={subject() as PermissionSubject | WriteSubject}
                siblings={siblings()}
                hasKeys={props.hasKeys}
              />
            </footer>
          )}
        </Match>
      </Switch>
    </article>
  );
}

function Facts(props: { ask: AskView }) {
  return (
    <div class="facts">
      <dl>
        <Show when={props.ask.subject.kind === "permission" && props.ask.subject}>
          {(subject) => (
            <div>
              <dt>{words.facts.tool}</dt>
              <dd>
                <code>
                  <Visible text={subject().tool} />
                </code>
              </dd>
            </div>
          )}
        </Show>
        <Show when={props.ask.subject.kind === "workspace_write" && props.ask.subject}>
          {(subject) => (
            <div>
              <dt>{words.facts.action}</dt>
              <dd>
                <code>
                  <Visible text={subject().action} />
                </code>
              </dd>
            </div>
          )}
        </Show>
        <div>
          <dt>{words.facts.directory}</dt>
          <dd class="path">
            <Visible text={props.ask.directory} />
          </dd>
        </div>
        <div>
          <dt>{words.facts.asked}</dt>
          <dd>
            <At at={props.ask.opened_at} />
            <Show when={props.ask.expires_at}>
              {(end) => (
                <>
                  {" "}
                  · {words.facts.expires} <At at={end()} />
                </>
              )}
            </Show>
          </dd>
        </div>
        <Show when={props.ask.options.length > 0}>
          <div>
            <dt>{words.facts.offers}</dt>
            <dd class="offers">
              <For each={props.ask.options}>
                {(option) => (
                  <code>
                    <Visible text={option.name} />
                  </code>
                )}
              </For>
            </dd>
          </div>
        </Show>
        <Show when={props.ask.previous}>
          {(previous) => (
            <div>
              <dt>{words.facts.repeats}</dt>
              <dd>
                <a href={fragmentOf({ page: "ask", ask: previous() })}>
                  {props.ask.subject.kind === "workspace_write" ? words.facts.repeatsWrite : words.facts.repeatsAsk}
                </a>
              </dd>
            </div>
          )}
        </Show>
        <div>
          <dt>{words.facts.digest}</dt>
          <dd>
            <code class="digest">{props.ask.digest}</code>
          </dd>
        </div>
        <div>
          <dt>{words.facts.ask}</dt>
          <dd>
            <code class="digest">{props.ask.id}</code>
          </dd>
        </div>
      </dl>
      <details class="raw">
        <summary>
          {props.ask.subject.kind === "workspace_write" ? words.facts.rawWrite : words.facts.raw}
        </summary>
        <pre class="code" tabindex="0">
          <Visible text={JSON.stringify(props.ask.raw, null, 2)} />
        </pre>
      </details>
    </div>
  );
}

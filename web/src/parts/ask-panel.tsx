/* One ask: what is wanted, whole; who wants it; and the answers, or how it ended. */
import { createUniqueId, Match, Show, Switch, type JSX } from "solid-js";
import type { AskView, PermissionSubject, QuestionSubject } from "../api/types.ts";
import { fragmentOf } from "../router.ts";
import { ledger } from "../state/live.ts";
import { siblingsOf } from "../state/ledger.ts";
import { wantOf } from "../text/wants.ts";
import { AnswerBar } from "./answer-bar.tsx";
import { MissingGrant } from "./answer-notes.tsx";
import { AskIcon } from "./ask-icon.tsx";
import { Clock } from "./icons.tsx";
import { Outcome } from "./outcome.tsx";
import { QuestionForm, QuestionParts } from "./question-form.tsx";
import { Requester } from "./requester.tsx";
import { ShownParts } from "./shown.tsx";
import { At, Waiting } from "./time.tsx";
import { Visible } from "./visible.tsx";

/** `within` names the session in whose transcript the ask is shown, if it is. */
export function AskPanel(props: { ask: AskView; hasKeys: boolean; within?: string; after?: JSX.Element }) {
  const title = createUniqueId();
  const permission = () => (props.ask.subject.kind === "permission" ? props.ask.subject : undefined);
  const question = () => (props.ask.subject.kind === "question" ? props.ask.subject : undefined);
  const isOpen = () => props.ask.state === "open";
  const canAnswer = () => isOpen() && props.ask.may_answer;
  const siblings = () => siblingsOf(ledger(), props.ask).length;
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
          <span class="chip chip-waiting">
            <Clock /> <span class="unseen">waiting </span>
            <Waiting from={props.ask.opened_at} />
          </span>
        </Show>
        <Show when={props.within !== props.ask.session}>
          <Requester ask={props.ask} />
        </Show>
      </header>
      <div class="ask-body">
        <Show when={permission()}>{(subject) => <ShownParts subject={subject()} />}</Show>
        <Show when={!canAnswer() && question()}>{(subject) => <QuestionParts subject={subject()} />}</Show>
        <Show when={canAnswer() && question()}>
          {(subject) => (
            <QuestionForm ask={props.ask} subject={subject() as QuestionSubject} siblings={siblings()} hasKeys={props.hasKeys} />
          )}
        </Show>
        <Show when={props.within !== undefined} fallback={<Facts ask={props.ask} />}>
          <details class="more">
            <summary>More about this ask</summary>
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
        <Match when={!props.ask.may_answer}>
          <footer class="ask-foot">
            <MissingGrant />
          </footer>
        </Match>
        <Match when={permission()}>
          {(subject) => (
            <footer class="ask-foot">
              <AnswerBar ask={props.ask} subject={subject() as PermissionSubject} siblings={siblings()} hasKeys={props.hasKeys} />
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
              <dt>Tool</dt>
              <dd>
                <code>
                  <Visible text={subject().tool} />
                </code>
              </dd>
            </div>
          )}
        </Show>
        <div>
          <dt>Directory</dt>
          <dd class="path">
            <Visible text={props.ask.directory} />
          </dd>
        </div>
        <div>
          <dt>Asked</dt>
          <dd>
            <At at={props.ask.opened_at} />
            <Show when={props.ask.expires_at}>
              {(end) => (
                <>
                  {" "}
                  · expires <At at={end()} />
                </>
              )}
            </Show>
          </dd>
        </div>
        <Show when={props.ask.previous}>
          {(previous) => (
            <div>
              <dt>Repeats</dt>
              <dd>
                <a href={fragmentOf({ page: "ask", ask: previous() })}>an ask of an engine that died</a>
              </dd>
            </div>
          )}
        </Show>
        <div>
          <dt>Digest</dt>
          <dd>
            <code class="digest">{props.ask.digest}</code>
          </dd>
        </div>
        <div>
          <dt>Ask</dt>
          <dd>
            <code class="digest">{props.ask.id}</code>
          </dd>
        </div>
      </dl>
      <details class="raw">
        <summary>The request as the engine sent it</summary>
        <pre class="code" tabindex="0">
          <Visible text={JSON.stringify(props.ask.raw, null, 2)} />
        </pre>
      </details>
    </div>
  );
}

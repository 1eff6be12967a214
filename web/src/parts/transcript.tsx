/* What was said and done in a session, growing as it happens. */
import { createMemo, For, Index, Match, Show, Switch } from "solid-js";
import type { ToolCall, TranscriptItem } from "../api/types.ts";
import { route } from "../router.ts";
import { isSpoken, type Transcript } from "../state/transcript.ts";
import { ledger } from "../state/live.ts";
import { duration } from "../text/duration.ts";
import { todosOf, type Todo } from "../text/todos.ts";
import { inputLine } from "../text/tool-input.ts";
import { words } from "../text/words.ts";
import { AttachmentPiece } from "./attachments.tsx";
import { DiffView } from "./diff.tsx";
import { Check, Clock, Cross } from "./icons.tsx";
import { Long } from "./long.tsx";
import { Markdown } from "./markdown.tsx";
import { SessionLink } from "./requester.tsx";
import { VirtualList } from "./virtual.tsx";
import { Visible } from "./visible.tsx";

/** Longer than any line on a screen. */
const LINE = 500;

export function TranscriptView(props: { transcript: Transcript }) {
  const seqs = createMemo(() => props.transcript.items.map((item) => item.seq));
  const bySeq = createMemo(() => new Map(props.transcript.items.map((item) => [item.seq, item])));
  const live = () => Object.values(props.transcript.live);
  const sought = () => {
    const at = route();
    return at.page === "session" ? at.item : undefined;
  };
  return (
    <VirtualList
      tag="ol"
      class="transcript"
      label={words.transcript.title}
      each={seqs()}
      guess={44}
      keep={sought()}
      after={
        <Index each={live()}>
          {(said) => (
            <li class="piece">
              <Show when={said().thought} fallback={<Markdown text={said().text} isGrowing />}>
                <Thought text={said().text} isOpen />
              </Show>
            </li>
          )}
        </Index>
      }
    >
      {/* By number, so that a piece that grows stays the same element: open details stay open. */}
      {(seq) => <Show when={bySeq().get(seq)}>{(item) => <Piece item={item()} />}</Show>}
    </VirtualList>
  );
}

function Piece(props: { item: TranscriptItem }) {
  const text = (kind: string) => (props.item.kind === kind && isSpoken(props.item) ? props.item : undefined);
  const attached = () => (props.item.kind === "attachment" ? props.item.attachment : undefined);
  const tool = () => (props.item.kind === "tool" ? props.item : undefined);
  const plan = () => (props.item.kind === "plan" ? props.item : undefined);
  const todos = createMemo(() => (props.item.kind === "tool" ? todosOf(props.item) : undefined));
  return (
    <li class={`piece piece-${props.item.kind}`} id={`piece-${props.item.seq}`} tabindex={isSought(props.item) ? "-1" : undefined}>
      <Switch>
        <Match when={text("prompt")}>
          {(said) => (
            <>
              <Show when={follows(props.item)} fallback={<span class="unseen">{words.transcript.prompt} </span>}>
                <span class="muted">{words.transcript.followUp}</span>
              </Show>
              <p class="said-text">
                <Long text={said().text} />
              </p>
            </>
          )}
        </Match>
        <Match when={text("text")}>{(said) => <Markdown text={said().text} />}</Match>
        <Match when={text("thought")}>{(said) => <Thought text={said().text} />}</Match>
        <Match when={text("notice")}>
          {(said) => (
            <p class="notice">
              <Long text={said().text} />
            </p>
          )}
        </Match>
        <Match when={attached()}>{(attachment) => <AttachmentPiece attachment={attachment()} />}</Match>
        <Match when={plan()}>{(made) => <Steps label={words.transcript.plan} steps={made().steps} />}</Match>
        <Match when={todos()}>{(list) => <Steps label={words.transcript.todos} steps={list()} />}</Match>
        <Match when={tool()}>{(call) => <Call call={call()} took={tookOf(props.item)} />}</Match>
      </Switch>
    </li>
  );
}

/** Whether the address names it. */
const isSought = (item: TranscriptItem): boolean => {
  const at = route();
  return at.page === "session" && at.item === item.seq;
};

/** How long a tool call took that is over, where it took long enough to be told. */
function tookOf(item: TranscriptItem): string | undefined {
  if (item.changed_at === undefined) return undefined;
  const milliseconds = Date.parse(item.changed_at) - Date.parse(item.at);
  return milliseconds < 1_000 ? undefined : duration(milliseconds);
}

/** Whether Countersign said it to pass on why something was denied. */
const follows = (item: TranscriptItem): boolean => item.kind === "prompt" && item.follows !== undefined;

function Thought(props: { text: string; isOpen?: boolean }) {
  return (
    <details class="thought" open={props.isOpen === true}>
      <summary>{words.transcript.thought}</summary>
      <Markdown text={props.text} isGrowing={props.isOpen === true} />
    </details>
  );
}

function Steps(props: { label: string; steps: readonly Todo[] }) {
  return (
    <ol class="plan" aria-label={props.label}>
      <Index each={props.steps}>
        {(step) => (
          <li class={`step step-${step().status}`}>
            <span class="step-status" title={words.transcript.steps[step().status]}>
              <Show when={step().status === "completed"} fallback={<span class="step-mark" aria-hidden="true" />}>
                <Check />
              </Show>
              <span class="unseen">{words.transcript.steps[step().status]}: </span>
            </span>
            <span>
              <Visible text={step().text} />
            </span>
          </li>
        )}
      </Index>
    </ol>
  );
}

function Call(props: { call: ToolCall; took: string | undefined }) {
  const child = () =>
    Object.values(ledger().sessions).find(({ id, native_id }) => id === props.call.child || native_id === props.call.child);
  return (
    <details class={`call call-${props.call.status}`}>
      <summary>
        <span class="call-status" title={words.transcript.calls[props.call.status]}>
          <Switch fallback={<Clock />}>
            <Match when={props.call.status === "completed"}>
              <Check />
            </Match>
            <Match when={props.call.status === "failed"}>
              <Cross />
            </Match>
          </Switch>
          <span class="unseen">{words.transcript.calls[props.call.status]}</span>
        </span>
        <code class="call-tool">
          <Visible text={props.call.tool.slice(0, LINE)} />
        </code>
        <code class="call-line">
          <Visible text={inputLine(props.call.input).slice(0, LINE)} />
        </code>
        <Show when={props.took !== undefined && (props.call.status === "completed" || props.call.status === "failed")}>
          <span class="call-took">{props.took}</span>
        </Show>
      </summary>
      <Show when={child()}>
        {(session) => (
          <p>
            {words.transcript.subAgent} <SessionLink session={session().id} />
          </p>
        )}
      </Show>
      <h3>{words.transcript.input}</h3>
      <pre class="code" tabindex="0">
        <Long text={JSON.stringify(props.call.input, null, 2) ?? ""} />
      </pre>
      <For each={props.call.changes ?? []}>
        {(change) => <DiffView path={change.path} patch={change.patch} />}
      </For>
      <Show when={props.call.output !== ""}>
        <h3>{words.transcript.output}</h3>
        <pre class="code" tabindex="0">
          <Long text={props.call.output} />
        </pre>
      </Show>
    </details>
  );
}

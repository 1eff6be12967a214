/* One job: what it does, what it asks, what came of it, and what can be done about it. */
import { createEffect, createMemo, createResource, createSignal, For, on, Show } from "solid-js";
import { cancelJob, prioritiseJob, readJobLog, retryJob, sentenceOf } from "../api/client.ts";
import type { JobLogEntry, JobView } from "../api/types.ts";
import { AskPanel } from "../parts/ask-panel.tsx";
import { Again, Alert, Down, Stop, Up } from "../parts/icons.tsx";
import { JobChanges } from "../parts/job-changes.tsx";
import { JobFacts } from "../parts/job-facts.tsx";
import { Progress, StateChip } from "../parts/job-state.tsx";
import { JobTimeline } from "../parts/job-timeline.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { Problem } from "../parts/problem.tsx";
import { workspaceName } from "../parts/requester.tsx";
import { Sentence } from "../parts/sentence.tsx";
import { At } from "../parts/time.tsx";
import { Visible } from "../parts/visible.tsx";
import { fragmentOf, goTo } from "../router.ts";
import { holds } from "../state/identity.ts";
import { isOver, movedTo, newJobId } from "../state/jobs.ts";
import { learnJob, ledger, wantAsk } from "../state/live.ts";
import { words } from "../text/words.ts";

export function Job(props: { job: JobView }) {
  const [log] = createResource(
    () => [props.job.id, props.job.changed_at, props.job.state, props.job.priority, props.job.worktree?.fate] as const,
    async ([id]) => (await readJobLog(id, 0)).entries,
  );
  const entries = () => (log.error === undefined ? log.latest : undefined) ?? [];
  return (
    <section class="job" aria-labelledby="job-title" data-job={props.job.id} data-job-state={props.job.state}>
      <Head job={props.job} />
      <Asks job={props.job} />
      <JobTimeline job={props.job} log={entries()} />
      <Outcome job={props.job} />
      <JobChanges job={props.job} />
      <Log entries={entries()} />
      <JobFacts job={props.job} />
    </section>
  );
}

function Head(props: { job: JobView }) {
  const [problem, setProblem] = createSignal<string>();
  const [isActing, setActing] = createSignal(false);
  const act = async (deed: () => Promise<JobView>): Promise<JobView | undefined> => {
    setProblem(undefined);
    setActing(true);
    try {
      const job = await deed();
      learnJob(job);
      return job;
    } catch (error) {
      setProblem(sentenceOf(error));
      return undefined;
    } finally {
      setActing(false);
    }
  };
  const retry = async () => {
    const id = newJobId(props.job.kind);
    const again = await act(() => retryJob(props.job.id, id));
    if (again !== undefined) goTo({ page: "job", job: again.id });
  };
  const known = createMemo(() => Object.values(ledger().jobs));
  const Mover = (mover: { way: "up" | "down" }) => {
    const priority = () => movedTo(known(), props.job, mover.way);
    return (
      <button
        type="button"
        aria-label={mover.way === "up" ? words.job.raise : words.job.lower}
        title={mover.way === "up" ? words.job.raise : words.job.lower}
        disabled={isActing() || priority() === undefined}
        onClick={() => {
          const to = priority();
          if (to !== undefined) void act(() => prioritiseJob(props.job.id, to));
        }}
      >
        <Show when={mover.way === "up"} fallback={<Down />}>
          <Up />
        </Show>
      </button>
    );
  };
  return (
    <header class="job-head">
      <div class="job-name">
        <h2 id="job-title">
          <Visible text={props.job.title} />
        </h2>
        <p class="job-standing">
          <StateChip job={props.job} />
          <Progress job={props.job} />
        </p>
        <p class="muted">
          {words.jobs.kinds[props.job.kind]} · <Visible text={props.job.engine} /> · {workspaceName(props.job.workspace)}
          <Show when={props.job.session}>
            {(session) => (
              <>
                {" "}
                · <a href={fragmentOf({ page: "session", session: session() })}>{words.job.session}</a>
              </>
            )}
          </Show>
        </p>
      </div>
      <div class="job-acts">
        <Show when={props.job.state === "queued" && props.job.may_cancel}>
          <Mover way="up" />
          <Mover way="down" />
        </Show>
        <Show when={props.job.may_cancel && !isOver(props.job)}>
          <button type="button" class="danger" disabled={isActing() || props.job.phase === "finalizing"} onClick={() => void act(() => cancelJob(props.job.id))}>
            <Stop /> {words.job.cancel}
          </button>
        </Show>
        <Show when={isOver(props.job) && holds("prompt")}>
          <button type="button" disabled={isActing()} onClick={() => void retry()}>
            <Again /> {words.job.retry}
          </button>
        </Show>
      </div>
      <Problem sentence={problem()} />
    </header>
  );
}

/** Its open asks, and those that were open while somebody looked: they say how they ended. */
function Asks(props: { job: JobView }) {
  const [held, setHeld] = createSignal<readonly string[]>([]);
  createEffect(
    on(
      () => props.job.open_asks,
      (open) => {
        const fresh = open.filter((id) => !held().includes(id));
        for (const id of fresh) wantAsk(id);
        if (fresh.length > 0) setHeld([...held(), ...fresh]);
      },
    ),
  );
  return (
    <For each={held()}>
      {(id) => (
        <Show when={ledger().asks[id]}>
          {(ask) => (
            <div class="inline-ask">
              <AskPanel ask={ask()} hasKeys={held()[0] === id} within={ask().session} />
            </div>
          )}
        </Show>
      )}
    </For>
  );
}

function Outcome(props: { job: JobView }) {
  return (
    <>
      <Show when={props.job.failure}>
        {(failure) => (
          <p class="note note-error">
            <Alert />
            <span>
              {words.job.failed} <Sentence text={failure().message} />
              <small class="job-hint">
                <Sentence text={failure().hint} />
              </small>
            </span>
          </p>
        )}
      </Show>
      <Show when={props.job.cancelled_by}>{(who) => <p class="note">{words.job.cancelledBy(who())}</p>}</Show>
      <Show when={isOver(props.job)}>
        <section class="job-part" aria-labelledby="job-result">
          <h3 id="job-result">{props.job.state === "completed" ? words.job.result : words.job.halfResult}</h3>
          <Show when={props.job.result ?? props.job.summary} fallback={<p class="muted">{words.job.noResult}</p>}>
            {(text) => <Markdown text={text()} under="h3" />}
          </Show>
        </section>
      </Show>
    </>
  );
}

function Log(props: { entries: readonly JobLogEntry[] }) {
  return (
    <details class="job-part job-log">
      <summary>
        <h3>{words.job.log}</h3> <span class="muted">{words.job.logLines(props.entries.length)}</span>
      </summary>
      <ol>
        <For each={props.entries}>
          {(entry) => (
            <li>
              <At at={entry.at} />
              <span class="muted">{words.jobs.states[entry.state]}</span>
              <span>
                <Visible text={entry.text} />
              </span>
            </li>
          )}
        </For>
      </ol>
    </details>
  );
}

/* What a job changed, file by file; in a worktree of its own, to be kept or discarded. */
import { createResource, createSignal, createUniqueId, For, onMount, Show } from "solid-js";
import { readJobDiff, sentenceOf, settleWorktree } from "../api/client.ts";
import type { JobView } from "../api/types.ts";
import { holds } from "../state/identity.ts";
import { isOver } from "../state/jobs.ts";
import { learnJob } from "../state/live.ts";
import { words } from "../text/words.ts";
import { DiffView } from "./diff.tsx";
import { Problem } from "./problem.tsx";
import { Visible } from "./visible.tsx";

/** More files than these are folded until somebody wants to see one. */
const OPEN = 8;

export function JobChanges(props: { job: JobView }) {
  const [isWanted, setWanted] = createSignal(false);
  const worktree = () => props.job.worktree;
  // What was discarded is gone; before a job has ended, its changes are read when somebody wants to.
  const source = () =>
    (isOver(props.job) || isWanted()) && props.job.session !== undefined && worktree()?.fate !== "discarded"
      ? ([props.job.id, props.job.state, worktree()?.fate] as const)
      : undefined;
  const [diff] = createResource(source, ([id]) => readJobDiff(id));
  const problem = () => (diff.error === undefined ? undefined : sentenceOf(diff.error));
  const known = () => (diff.error === undefined ? diff.latest : undefined);
  const files = () => known()?.files ?? [];
  return (
    <Show when={props.job.session !== undefined || worktree() !== undefined}>
      <section class="job-part changes" aria-labelledby="job-changes">
        <h3 id="job-changes">
          {words.changes.title}{" "}
          <Show when={files().length > 0}>
            <span class="muted">{words.changes.files(files().length)}</span>
          </Show>
        </h3>
        <Worktree job={props.job} />
        <Problem sentence={problem()} />
        <Show when={!isOver(props.job)}>
          <button type="button" class="more-button" onClick={() => setWanted(true)}>
            {words.changes.show}
          </button>
        </Show>
        <div class="diffs" aria-busy={diff.loading}>
          <Show when={source() !== undefined && !diff.loading && problem() === undefined && files().length === 0}>
            <p class="muted">{words.changes.none}</p>
          </Show>
          <For each={files()}>
            {(file) => (
              <Show when={files().length > OPEN} fallback={<DiffView path={file.path} patch={file.patch} />}>
                <details class="changed-file">
                  <summary class="path">
                    <Visible text={file.path} />
                  </summary>
                  <DiffView path={file.path} patch={file.patch} />
                </details>
              </Show>
            )}
          </For>
          <Show when={known()?.truncated}>
            <p class="muted">{words.changes.truncated}</p>
          </Show>
        </div>
      </section>
    </Show>
  );
}

function Worktree(props: { job: JobView }) {
  const [problem, setProblem] = createSignal<string>();
  const [isActing, setActing] = createSignal(false);
  const [isAsking, setAsking] = createSignal(false);
  const settle = async (how: "keep" | "discard") => {
    setProblem(undefined);
    setActing(true);
    try {
      learnJob(await settleWorktree(props.job.id, how));
    } catch (error) {
      setProblem(sentenceOf(error));
    } finally {
      setActing(false);
    }
  };
  return (
    <Show when={props.job.worktree}>
      {(worktree) => (
        <div class="worktree" data-fate={worktree().fate}>
          <Show when={worktree().fate === "open"} fallback={<Settled worktree={worktree()} />}>
            <p>
              {words.changes.worktree}{" "}
              <code>
                <Visible text={worktree().branch} />
              </code>
              . {isOver(props.job) ? words.changes.open : words.changes.notYet}
            </p>
            <Show when={isOver(props.job) && holds("prompt")}>
              <div class="worktree-acts">
                <button type="button" class="primary" title={words.changes.keepHint} disabled={isActing()} onClick={() => void settle("keep")}>
                  {words.changes.keep}
                </button>
                <button type="button" class="danger" title={words.changes.discardHint} disabled={isActing()} onClick={() => setAsking(true)}>
                  {words.changes.discard}
                </button>
              </div>
              <small>{words.changes.keepHint}</small>
            </Show>
          </Show>
          <Problem sentence={problem()} />
          <Show when={isAsking()}>
            <ConfirmDiscard close={() => setAsking(false)} confirm={() => void settle("discard")} />
          </Show>
        </div>
      )}
    </Show>
  );
}

function Settled(props: { worktree: NonNullable<JobView["worktree"]> }) {
  return (
    <p>
      <Show when={props.worktree.fate === "kept"} fallback={words.changes.discarded}>
        {words.changes.kept}{" "}
        <code>
          <Visible text={props.worktree.branch} />
        </code>
        .
      </Show>
    </p>
  );
}

function ConfirmDiscard(props: { close: () => void; confirm: () => void }) {
  const title = createUniqueId();
  let dialog: HTMLDialogElement | undefined;
  onMount(() => dialog?.showModal());
  return (
    <dialog ref={(element) => (dialog = element)} aria-labelledby={title} onClose={() => props.close()}>
      <h2 id={title}>{words.changes.discardTitle}</h2>
      <p>{words.changes.discardHint}</p>
      <div class="dialog-buttons">
        <button type="button" onClick={() => dialog?.close()}>
          {words.cancel}
        </button>
        <button
          type="button"
          class="danger"
          onClick={() => {
            props.confirm();
            dialog?.close();
          }}
        >
          {words.changes.discard}
        </button>
      </div>
    </dialog>
  );
}

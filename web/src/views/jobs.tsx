/* The jobs, on a board or in a list, and the one that is chosen. */
import { createEffect, createMemo, createSignal, For, Show, type JSX } from "solid-js";
import { sentenceOf } from "../api/client.ts";
import { Back, Board, Lines, Plus } from "../parts/icons.tsx";
import { JobCard } from "../parts/job-card.tsx";
import { NewJobDialog } from "../parts/new-job.tsx";
import { Problem } from "../parts/problem.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { fragmentOf, goTo, route } from "../router.ts";
import { holds } from "../state/identity.ts";
import { COLUMNS, inColumn, newestFirst, passes, type JobFilter } from "../state/jobs.ts";
import { bindKeys } from "../state/keys.ts";
import { isLoaded, isMissing, ledger, olderJobs, wantJob, wantOlderJobs } from "../state/live.ts";
import { JOB_LAYOUTS, prefer, preferences } from "../state/preferences.ts";
import { words } from "../text/words.ts";
import { Job } from "./job.tsx";

export function Jobs() {
  const [filter, setFilter] = createSignal<JobFilter>({ search: "" });
  const [isNew, setNew] = createSignal(false);
  const chosen = createMemo(() => {
    const at = route();
    return at.page === "job" ? at.job : undefined;
  });
  const jobs = createMemo(() => newestFirst(ledger().jobs).filter((job) => passes(job, filter())));
  const isBoard = () => preferences().jobs === "board" && chosen() === undefined;
  const order = createMemo(() => (isBoard() ? COLUMNS.flatMap((column) => inColumn(jobs(), column)) : jobs()).map((job) => job.id));
  const move = (by: 1 | -1) => {
    const at = order().indexOf(chosen() ?? document.activeElement?.closest<HTMLElement>("[data-job]")?.dataset["job"] ?? "");
    const to = order()[at < 0 ? 0 : Math.min(Math.max(at + by, 0), order().length - 1)];
    if (to === undefined) return;
    if (chosen() !== undefined) goTo({ page: "job", job: to });
    else document.querySelector<HTMLElement>(`[data-job="${to}"] > a`)?.focus();
  };
  bindKeys(() => ({
    next: () => move(1),
    previous: () => move(-1),
    back: () => goTo(chosen() === undefined ? { page: "inbox" } : { page: "jobs" }),
  }));
  const tools = () => <Tools filter={filter()} set={setFilter} handIn={() => setNew(true)} />;
  return (
    <>
      <Show
        when={chosen() !== undefined}
        fallback={
          <main class="panes jobs-page">
            <div class="jobs">
              {tools()}
              <Show when={isBoard()} fallback={<List jobs={jobs().map((job) => job.id)} chosen={undefined} isFiltered={filter().search !== ""} />}>
                <div class="board">
                  <For each={COLUMNS}>
                    {(column) => (
                      <BoardColumn
                        title={words.jobs.columns[column]}
                        none={words.jobs.columnNone[column]}
                        jobs={inColumn(jobs(), column).map((job) => job.id)}
                        column={column}
                      />
                    )}
                  </For>
                </div>
              </Show>
              <Older />
            </div>
          </main>
        }
      >
        <main class="panes" data-chosen="">
          <div class="pane-list">
            {tools()}
            <List jobs={jobs().map((job) => job.id)} chosen={chosen()} isFiltered={filter().search !== ""} />
            <Older />
          </div>
          <div class="pane-chosen">
            <a class="back" href={fragmentOf({ page: "jobs" })}>
              <Back /> {words.jobs.title}
            </a>
            <Show when={chosen()} keyed>
              {(id) => <Chosen id={id} />}
            </Show>
          </div>
        </main>
      </Show>
      <Show when={isNew()}>
        <NewJobDialog close={() => setNew(false)} />
      </Show>
    </>
  );
}

function Chosen(props: { id: string }) {
  createEffect(() => {
    if (isLoaded()) wantJob(props.id);
  });
  return (
    <Show when={ledger().jobs[props.id]} fallback={<p class="quiet-note">{isMissing(props.id) ? words.jobs.missing : words.reading}</p>}>
      {(job) => <Job job={job()} />}
    </Show>
  );
}

function Tools(props: { filter: JobFilter; set: (filter: JobFilter) => void; handIn: () => void }) {
  return (
    <div class="jobs-tools">
      <h2 class="jobs-title">{words.jobs.title}</h2>
      <search class="filter">
        <SearchField
          label={words.jobs.search}
          hint={words.jobs.searchHint}
          text={props.filter.search}
          write={(search) => props.set({ ...props.filter, search })}
        />
      </search>
      <Show when={route().page === "jobs"}>
        <Layouts />
      </Show>
      <Show when={holds("prompt")}>
        <button type="button" class="primary" onClick={() => props.handIn()}>
          <Plus /> {words.newJob.open}
        </button>
      </Show>
    </div>
  );
}

const LAYOUT_ICONS: Readonly<Record<(typeof JOB_LAYOUTS)[number], () => JSX.Element>> = { board: Board, list: Lines };

function Layouts() {
  return (
    <fieldset class="switch">
      <legend class="unseen">{words.jobs.layout}</legend>
      <For each={JOB_LAYOUTS}>
        {(layout) => (
          <button type="button" class="quiet" aria-pressed={preferences().jobs === layout} onClick={() => prefer({ jobs: layout })}>
            {LAYOUT_ICONS[layout]()} {words.jobs.layouts[layout]}
          </button>
        )}
      </For>
    </fieldset>
  );
}

function BoardColumn(props: { title: string; none: string; jobs: readonly string[]; column: string }) {
  const title = () => `board-${props.column}`;
  return (
    <section class="board-column" aria-labelledby={title()} data-column={props.column}>
      <h3 id={title()} class="list-title">
        {props.title} <span class="board-count">{props.jobs.length}</span>
      </h3>
      <ul class="rows">
        <For each={props.jobs} fallback={<li class="rows-empty">{isLoaded() ? props.none : words.reading}</li>}>
          {(id) => <Show when={ledger().jobs[id]}>{(job) => <JobCard job={job()} isCurrent={false} />}</Show>}
        </For>
      </ul>
    </section>
  );
}

function List(props: { jobs: readonly string[]; chosen: string | undefined; isFiltered: boolean }) {
  const none = () => (!isLoaded() ? words.reading : props.isFiltered ? words.jobs.noneFits : words.jobs.none);
  return (
    <ul class="rows" aria-label={words.jobs.title}>
      <For each={props.jobs} fallback={<li class="rows-empty">{none()}</li>}>
        {(id) => <Show when={ledger().jobs[id]}>{(job) => <JobCard job={job()} isCurrent={props.chosen === id} />}</Show>}
      </For>
    </ul>
  );
}

function Older() {
  const [problem, setProblem] = createSignal<string>();
  const read = async () => {
    setProblem(undefined);
    try {
      await wantOlderJobs();
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  return (
    <Show when={olderJobs()}>
      <Problem sentence={problem()} />
      <button type="button" class="more-button" onClick={() => void read()}>
        {words.jobs.older}
      </button>
    </Show>
  );
}

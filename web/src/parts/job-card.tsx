/* A job on the board or in a list. */
import { Show } from "solid-js";
import type { JobView } from "../api/types.ts";
import { fragmentOf } from "../router.ts";
import { plainLine } from "../text/markdown.ts";
import { words } from "../text/words.ts";
import { Progress, StateChip } from "./job-state.tsx";
import { workspaceName } from "./requester.tsx";
import { Visible } from "./visible.tsx";

export function JobCard(props: { job: JobView; isCurrent: boolean }) {
  return (
    <li class="row job-card" classList={{ "row-current": props.isCurrent }} data-job={props.job.id} data-job-state={props.job.state}>
      <a href={fragmentOf({ page: "job", job: props.job.id })} aria-current={props.isCurrent ? "true" : undefined}>
        <span class="row-head">
          <span class="row-who">
            <Visible text={props.job.title} />
          </span>
          <StateChip job={props.job} />
        </span>
        <Show when={props.job.failure}>
          {(failure) => (
            <span class="row-summary row-prose">
              <Visible text={failure().message} />
            </span>
          )}
        </Show>
        <Show when={props.job.failure === undefined && props.job.summary}>
          {(summary) => (
            <span class="row-summary row-prose">
              <Visible text={plainLine(summary())} />
            </span>
          )}
        </Show>
        <span class="row-standing">
          <Progress job={props.job} />
        </span>
        <span class="row-standing">
          <Visible text={props.job.engine} /> · {workspaceName(props.job.workspace)}
          <Show when={props.job.worktree}> · {words.jobs.inWorktree}</Show>
        </span>
      </a>
    </li>
  );
}

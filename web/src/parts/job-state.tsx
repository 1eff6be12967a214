/* How a job stands, and what it does now. */
import { Match, Show, Switch } from "solid-js";
import type { JobView } from "../api/types.ts";
import { isOver } from "../state/jobs.ts";
import { duration } from "../text/duration.ts";
import { words } from "../text/words.ts";
import { Check, Clock, Cross, Question, Stop } from "./icons.tsx";
import { Ago, Waiting } from "./time.tsx";
import { Visible } from "./visible.tsx";

/** The state as a chip: a shape and a word, so that nobody has to tell colours apart. */
export function StateChip(props: { job: JobView }) {
  return (
    <span class={`chip job-state job-state-${props.job.state}`}>
      <Switch fallback={<span class="dot dot-busy" aria-hidden="true" />}>
        <Match when={props.job.state === "completed"}>
          <Check />
        </Match>
        <Match when={props.job.state === "failed"}>
          <Cross />
        </Match>
        <Match when={props.job.state === "cancelled"}>
          <Stop />
        </Match>
        <Match when={props.job.state === "waiting"}>
          <Question />
        </Match>
        <Match when={props.job.state === "queued"}>
          <Clock />
        </Match>
      </Switch>
      {words.jobs.states[props.job.state]}
    </span>
  );
}

/** What it does now and for how long, or how long it took. */
export function Progress(props: { job: JobView }) {
  const took = () => {
    const { started_at, ended_at } = props.job;
    return started_at === undefined || ended_at === undefined ? undefined : duration(Date.parse(ended_at) - Date.parse(started_at));
  };
  return (
    <span class="job-progress">
      <Show
        when={!isOver(props.job) && props.job.breadcrumb}
        fallback={
          <>
            <Ago at={props.job.ended_at ?? props.job.changed_at} />
            <Show when={took()}>{(time) => <> · {words.jobs.took(time())}</>}</Show>
          </>
        }
      >
        {(crumb) => (
          <>
            <Show
              when={props.job.queue_place === undefined}
              fallback={<span>{words.jobs.before(props.job.queue_place ?? 0)}</span>}
            >
              <span class="job-crumb">
                <Visible text={crumb().text} />
              </span>
            </Show>{" "}
            · <Waiting from={crumb().since} />
          </>
        )}
      </Show>
    </span>
  );
}

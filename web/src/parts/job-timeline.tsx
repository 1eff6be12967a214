/* A picture of where a job's time went, with the same in words. */
import { createEffect, createMemo, For, Show } from "solid-js";
import type { JobLogEntry, JobView } from "../api/types.ts";
import { now } from "../state/clock.ts";
import { isOver } from "../state/jobs.ts";
import { followSession, isLoaded, transcriptOf } from "../state/live.ts";
import { duration } from "../text/duration.ts";
import { drawn, stretchesOf, totals } from "../text/timeline.ts";
import { words } from "../text/words.ts";
import { At } from "./time.tsx";
import { Visible } from "./visible.tsx";

/** The picture's own measure. */
const WIDTH = 1000;
const HEIGHT = 28;
/** The table lists no more stretches than somebody reads. */
const MOST = 40;

export function JobTimeline(props: { job: JobView; log: readonly JobLogEntry[] }) {
  createEffect(() => {
    const { session } = props.job;
    if (session !== undefined && isLoaded()) followSession(session);
  });
  const items = () => {
    const { session, started_at } = props.job;
    const known = session === undefined ? [] : (transcriptOf(session)?.items ?? []);
    return started_at === undefined ? [] : known.filter((item) => item.at >= started_at);
  };
  // What has ended does not tick.
  const stretches = createMemo(() => stretchesOf(props.job, props.log, items(), isOver(props.job) ? 0 : now()));
  const sums = createMemo(() => totals(stretches()));
  const whole = () => sums().reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  const longest = createMemo(() => {
    if (stretches().length <= MOST) return stretches();
    const least = stretches().map((stretch) => stretch.to - stretch.from).toSorted((a, b) => b - a)[MOST - 1] ?? 0;
    return stretches().filter((stretch) => stretch.to - stretch.from >= least).slice(0, MOST);
  });
  return (
    <Show when={stretches().length > 0}>
      <section class="job-part timeline" aria-labelledby="job-timeline">
        <h3 id="job-timeline">
          {words.timeline.title} <span class="muted">{words.timeline.whole(duration(whole()))}</span>
        </h3>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <For each={drawn(stretches(), WIDTH)}>
            {(bar) => <rect class={`time-${bar.kind}`} x={bar.x} y="0" width={bar.width} height={HEIGHT} />}
          </For>
        </svg>
        {/* What the picture shows is what these say. */}
        <ul class="timeline-key" aria-label={words.timeline.title}>
          <For each={sums()}>
            {({ kind, milliseconds, share }) => (
              <li>
                <span class={`time-mark time-${kind}`} aria-hidden="true" />
                {words.timeline.kinds[kind]}{" "}
                <span class="muted">
                  {duration(milliseconds)} · {words.timeline.share(Math.round(share * 100))}
                </span>
              </li>
            )}
          </For>
        </ul>
        <details class="timeline-table">
          <summary>{words.timeline.table}</summary>
          <Show when={longest().length < stretches().length}>
            <p class="muted">{words.timeline.more(longest().length)}</p>
          </Show>
          <table>
            <thead>
              <tr>
                <th scope="col">{words.timeline.began}</th>
                <th scope="col">{words.timeline.what}</th>
                <th scope="col">{words.timeline.length}</th>
              </tr>
            </thead>
            <tbody>
              <For each={longest()}>
                {(stretch) => (
                  <tr>
                    <td>
                      <At at={new Date(stretch.from).toISOString()} />
                    </td>
                    <td>
                      {words.timeline.kinds[stretch.kind]}
                      <Show when={stretch.tools}>
                        {(tools) => (
                          <span class="muted">
                            {" "}
                            <Visible text={tools().join(", ")} />
                          </span>
                        )}
                      </Show>
                    </td>
                    <td>{duration(stretch.to - stretch.from)}</td>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        </details>
      </section>
    </Show>
  );
}

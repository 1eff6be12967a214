/* Figures about the asks of the last days: how many, how long people took, who and what, and whether in time. */
import { createMemo, createSignal, For, Show } from "solid-js";
import { readFigures } from "../../api/client.ts";
import type { Figures } from "../../api/types.ts";
import { BarRow, briefly, Chart, DayBars, dayName, Legend, WaitLines } from "../../parts/charts.tsx";
import { WorkspaceChoice } from "../../parts/choices.tsx";
import { Problem } from "../../parts/problem.tsx";
import { Visible } from "../../parts/visible.tsx";
import { asksIn, KINDS, kindsOf, percent, type Kind } from "../../state/charting.ts";
import { ledger } from "../../state/live.ts";
import { prefer, preferences, TARGETS, type Preferences } from "../../state/preferences.ts";
import { createReading } from "../../state/reading.ts";
import { duration } from "../../text/duration.ts";
import { words } from "../../text/words.ts";

const SPANS = [7, 30, 90] as const;

export function FiguresPage() {
  const [workspace, setWorkspace] = createSignal<string>();
  const [days, setDays] = createSignal<(typeof SPANS)[number]>(30);
  const wish = createMemo(() => ({
    workspace: workspace(),
    days: days(),
    // A day is one where this browser is.
    utc_offset_min: -new Date().getTimezoneOffset(),
    target_s: preferences().target,
  }));
  const figures = createReading(wish, readFigures);
  return (
    <div class="figures">
      <div class="figures-tools">
        <Show when={ledger().workspaces.length > 1}>
          <WorkspaceChoice label={words.figures.workspace} all={words.ledger.allWorkspaces} workspace={workspace()} set={setWorkspace} />
        </Show>
        <fieldset class="segments" aria-label={words.figures.days}>
          <For each={SPANS}>
            {(span) => (
              <button type="button" class="segment" aria-pressed={days() === span} onClick={() => setDays(span)}>
                {words.figures.lastDays(span)}
              </button>
            )}
          </For>
        </fieldset>
      </div>
      <Problem sentence={figures.problem()} />
      <Show when={figures.value()} fallback={<Show when={figures.problem() === undefined}><p class="muted">{words.reading}</p></Show>}>
        {(known) => (
          <div class="charts" aria-busy={figures.isReading()}>
            <Show when={!known().complete}>
              <p class="note note-warning">{words.figures.incomplete(dayName(known().days[0]?.from ?? ""))}</p>
            </Show>
            <InTime figures={known()} />
            <PerDay figures={known()} />
            <Took figures={known()} />
            <ByWhom figures={known()} />
            <ByTool figures={known()} />
          </div>
        )}
      </Show>
    </div>
  );
}

function InTime(props: { figures: Figures }) {
  const slo = () => props.figures.slo;
  const target = () => briefly(slo().target_s);
  const share = () => percent(slo().in_time, slo().counted);
  return (
    <Chart
      title={words.figures.slo.title}
      legend={
        <details class="chart-table">
          <summary>{words.figures.slo.what}</summary>
          <p class="muted">{words.figures.slo.about}</p>
        </details>
      }
    >
      <div class="slo">
        <Show when={slo().counted > 0} fallback={<p class="muted">{words.figures.slo.none}</p>}>
          <p class="slo-share">{words.figures.slo.share(share())}</p>
          <svg class="bar-svg slo-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
            <rect class="fill-ground" width="100" height="10" />
            <rect class="fill-allowed" width={(100 * slo().in_time) / slo().counted} height="10" />
          </svg>
          <p class="muted">{words.figures.slo.of(slo().in_time, slo().counted, target())}</p>
        </Show>
        <label class="slo-target">
          <span>{words.figures.slo.target}</span>
          <select onChange={(event) => prefer({ target: Number(event.currentTarget.value) as Preferences["target"] })}>
            <For each={TARGETS}>
              {(each) => (
                <option value={each} selected={preferences().target === each}>
                  {briefly(each)}
                </option>
              )}
            </For>
          </select>
        </label>
      </div>
    </Chart>
  );
}

function PerDay(props: { figures: Figures }) {
  const days = () => props.figures.days;
  const all = () => asksIn(days());
  const label = () => words.figures.perDay.alt(all(), days().length, Math.max(0, ...days().map((day) => day.asks)));
  return (
    <Chart
      title={words.figures.perDay.title}
      lead={<p class="muted">{words.figures.perDay.total(all(), days().length)}</p>}
      legend={<Legend kinds={KINDS} />}
      table={
        <table>
          <thead>
            <tr>
              <th scope="col">{words.figures.day}</th>
              <For each={KINDS}>{(kind) => <th scope="col">{words.figures.kinds[kind]}</th>}</For>
              <th scope="col">{words.figures.perDay.all}</th>
            </tr>
          </thead>
          <tbody>
            <For each={days().toReversed()}>
              {(day) => (
                <tr>
                  <th scope="row">{dayName(day.from)}</th>
                  <For each={KINDS}>{(kind) => <td class="number">{kindsOf(day)[kind]}</td>}</For>
                  <td class="number">{day.asks}</td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      }
    >
      <Show when={all() > 0} fallback={<p class="chart-none muted">{words.figures.none}</p>}>
        <DayBars days={days()} label={label()} />
      </Show>
    </Chart>
  );
}

function Took(props: { figures: Figures }) {
  const waits = () => props.figures.waits;
  const told = (seconds: number | undefined) => duration((seconds ?? 0) * 1000);
  const cell = (seconds: number | undefined) => (seconds === undefined ? "–" : told(seconds));
  return (
    <Chart
      title={words.figures.took.title}
      lead={
        <Show when={waits().answers > 0}>
          <p class="muted">{words.figures.took.about(told(waits().p50_s), told(waits().p90_s))}</p>
        </Show>
      }
      legend={
        <Show when={waits().answers > 0}>
          <ul class="legend">
            <li>
              <span class="swatch swatch-p50" aria-hidden="true" /> {words.figures.took.p50}
            </li>
            <li>
              <span class="swatch swatch-p90" aria-hidden="true" /> {words.figures.took.p90}
            </li>
          </ul>
        </Show>
      }
      table={
        <table>
          <thead>
            <tr>
              <th scope="col">{words.figures.day}</th>
              <th scope="col">{words.figures.took.answers}</th>
              <th scope="col">{words.figures.took.p50}</th>
              <th scope="col">{words.figures.took.p90}</th>
            </tr>
          </thead>
          <tbody>
            <For each={props.figures.days.toReversed()}>
              {(day) => (
                <tr>
                  <th scope="row">{dayName(day.from)}</th>
                  <td class="number">{day.waits.answers}</td>
                  <td class="number">{cell(day.waits.p50_s)}</td>
                  <td class="number">{cell(day.waits.p90_s)}</td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      }
    >
      <Show when={waits().answers > 0} fallback={<p class="chart-none muted">{words.figures.took.none}</p>}>
        <WaitLines days={props.figures.days} label={words.figures.took.alt(told(waits().p50_s), told(waits().p90_s))} />
      </Show>
    </Chart>
  );
}

function ByWhom(props: { figures: Figures }) {
  const people = () => props.figures.people;
  const most = () => Math.max(...people().map((person) => person.allowed + person.denied), 1);
  return (
    <Chart title={words.figures.people.title} lead={<Legend kinds={["allowed", "denied"]} />}>
      <Show when={people().length > 0} fallback={<p class="chart-none muted">{words.figures.people.none}</p>}>
        <section class="table-scroll" tabindex="0" aria-label={words.figures.people.title}>
          <table class="bars">
            <BarHead name={words.figures.people.who} kinds={["allowed", "denied"]} />
            <tbody>
              <For each={people()}>
                {(person) => (
                  <BarRow
                    name={<Visible text={person.actor.name} />}
                    parts={[
                      ["allowed", person.allowed],
                      ["denied", person.denied],
                    ]}
                    most={most()}
                  />
                )}
              </For>
            </tbody>
          </table>
        </section>
      </Show>
    </Chart>
  );
}

function ByTool(props: { figures: Figures }) {
  const tools = () => props.figures.tools;
  const most = () => Math.max(...tools().map((tool) => tool.asks), 1);
  return (
    <Chart title={words.figures.tools.title} lead={<Legend kinds={KINDS} />}>
      <Show when={tools().length > 0} fallback={<p class="chart-none muted">{words.figures.tools.none}</p>}>
        <section class="table-scroll" tabindex="0" aria-label={words.figures.tools.title}>
          <table class="bars">
            <BarHead name={words.figures.tools.tool} kinds={KINDS} />
            <tbody>
              <For each={tools()}>
                {(tool) => {
                  const kinds = kindsOf(tool);
                  return (
                    <BarRow
                      name={
                        <code>
                          <Visible text={tool.tool} />
                        </code>
                      }
                      parts={KINDS.map((kind) => [kind, kinds[kind]] as const)}
                      most={most()}
                    />
                  );
                }}
              </For>
            </tbody>
          </table>
        </section>
      </Show>
    </Chart>
  );
}

function BarHead(props: { name: string; kinds: readonly Kind[] }) {
  return (
    <thead>
      <tr>
        <th scope="col">{props.name}</th>
        <For each={props.kinds}>
          {(kind) => (
            <th scope="col">
              <span class={`swatch fill-${kind}`} aria-hidden="true" />
              <span class="unseen">{words.figures.kinds[kind]}</span>
            </th>
          )}
        </For>
        <th scope="col">{words.figures.perDay.all}</th>
      </tr>
    </thead>
  );
}

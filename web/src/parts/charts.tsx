/*
 * Charts: drawn here, in the colours of the page, as wide as there is room. A chart is one picture with one sentence to
 * whoever does not see it, and everything in it stands in a table below.
 */
import { createMemo, createSignal, For, onCleanup, Show, type JSX } from "solid-js";
import type { DayFigures } from "../api/types.ts";
import { height, KINDS, kindsOf, namedDays, stacked, ticksTo, timeTicks, type Kind } from "../state/charting.ts";
import { duration } from "../text/duration.ts";
import { words } from "../text/words.ts";

const HEIGHT = 180;
const FOOT = 22;
const HEAD = 8;
const SIDE = 52;
/** The room that the name of a day takes. */
const NAME_WIDTH = 56;

/** How wide an element is, as long as it is there. */
function createWidth(): [() => number, (element: Element) => void] {
  const [width, setWidth] = createSignal(600);
  const observer = new ResizeObserver(([entry]) => setWidth(Math.max(200, Math.floor(entry?.contentRect.width ?? 600))));
  onCleanup(() => observer.disconnect());
  return [width, (element) => observer.observe(element)];
}

/** A chart with its title, and what is in it as a table. */
export function Chart(props: { title: string; lead?: JSX.Element; legend?: JSX.Element; table?: JSX.Element; children: JSX.Element }) {
  return (
    <section class="chart">
      <h2>{props.title}</h2>
      {props.lead}
      {props.children}
      {props.legend}
      <Show when={props.table}>
        <details class="chart-table">
          <summary>{words.figures.table}</summary>
          <section class="table-scroll" tabindex="0" aria-label={props.title}>
            {props.table}
          </section>
        </details>
      </Show>
    </section>
  );
}

export function Legend(props: { kinds: readonly Kind[] }) {
  return (
    <ul class="legend">
      <For each={props.kinds}>
        {(kind) => (
          <li>
            <span class={`swatch fill-${kind}`} aria-hidden="true" /> {words.figures.kinds[kind]}
          </li>
        )}
      </For>
    </ul>
  );
}

export function dayName(from: string): string {
  return new Date(from).toLocaleDateString(undefined, { day: "numeric", month: "short" });
}

/** The days at the foot and the lines behind, which all charts of days have. */
function Frame(props: { days: readonly DayFigures[]; width: number; ticks: readonly { at: number; name: string }[] }) {
  const step = () => (props.width - SIDE) / Math.max(1, props.days.length);
  const named = createMemo(() => namedDays(props.days.length, Math.floor((props.width - SIDE) / NAME_WIDTH)));
  return (
    <>
      <For each={props.ticks}>
        {(tick) => (
          <>
            <line class="chart-line" x1={SIDE} x2={props.width} y1={tick.at} y2={tick.at} />
            <text class="chart-text" x={SIDE - 8} y={tick.at + 4} text-anchor="end">
              {tick.name}
            </text>
          </>
        )}
      </For>
      <For each={props.days}>
        {(day, at) => (
          <Show when={named().has(at())}>
            <text
              class="chart-text"
              x={at() === props.days.length - 1 ? props.width : SIDE + (at() + 0.5) * step()}
              y={HEIGHT - 6}
              text-anchor={at() === props.days.length - 1 ? "end" : "middle"}
            >
              {dayName(day.from)}
            </text>
          </Show>
        )}
      </For>
    </>
  );
}

const ROOM = HEIGHT - FOOT - HEAD;
const foot = HEIGHT - FOOT;

/** How many asks there were on each day, and what became of them. */
export function DayBars(props: { days: readonly DayFigures[]; label: string }) {
  const [width, watch] = createWidth();
  const ticks = createMemo(() => ticksTo(Math.max(...props.days.map((day) => day.asks))));
  const scale = () => ROOM / (ticks().at(-1) ?? 1);
  const step = () => (width() - SIDE) / Math.max(1, props.days.length);
  const bar = () => Math.min(36, Math.max(2, step() * 0.68));
  return (
    <div class="chart-box" ref={watch}>
      <p class="unseen">{props.label}</p>
      <svg class="chart-svg" width={width()} height={HEIGHT} viewBox={`0 0 ${width()} ${HEIGHT}`} aria-hidden="true">
        <Frame days={props.days} width={width()} ticks={ticks().map((tick) => ({ at: foot - tick * scale(), name: String(tick) }))} />
        <For each={props.days}>
          {(day, at) => {
            const kinds = kindsOf(day);
            return (
              <For each={stacked(KINDS.map((kind) => [kind, kinds[kind]] as const), scale())}>
                {(part) => (
                  <rect
                    class={`fill-${part.kind}`}
                    x={SIDE + (at() + 0.5) * step() - bar() / 2}
                    y={foot - part.from - part.length}
                    width={bar()}
                    height={Math.max(1, part.length - 1)}
                  >
                    <title>{`${dayName(day.from)}: ${part.count} ${words.figures.kinds[part.kind]}`}</title>
                  </rect>
                )}
              </For>
            );
          }}
        </For>
      </svg>
    </div>
  );
}

/** How long people took on each day: a line for half of the answers and one for nine in ten. */
export function WaitLines(props: { days: readonly DayFigures[]; label: string }) {
  const [width, watch] = createWidth();
  const ticks = createMemo(() => timeTicks(Math.max(...props.days.map((day) => day.waits.p90_s ?? 0))));
  const most = () => ticks().at(-1) ?? 10;
  const y = (seconds: number) => foot - height(seconds, most()) * ROOM;
  const x = (at: number) => SIDE + (at + 0.5) * ((width() - SIDE) / Math.max(1, props.days.length));
  const points = (of: "p50_s" | "p90_s") =>
    props.days.flatMap((day, at) => (day.waits[of] === undefined ? [] : [{ x: x(at), y: y(day.waits[of] ?? 0), day, seconds: day.waits[of] ?? 0 }]));
  return (
    <div class="chart-box" ref={watch}>
      <p class="unseen">{props.label}</p>
      <svg class="chart-svg" width={width()} height={HEIGHT} viewBox={`0 0 ${width()} ${HEIGHT}`} aria-hidden="true">
        <Frame days={props.days} width={width()} ticks={ticks().map((tick) => ({ at: y(tick), name: briefly(tick) }))} />
        <For each={["p90_s", "p50_s"] as const}>
          {(of) => (
            <g class={`wait wait-${of}`}>
              <polyline points={points(of).map((point) => `${point.x},${point.y}`).join(" ")} />
              <For each={points(of)}>
                {(point) => (
                  <circle cx={point.x} cy={point.y} r={of === "p50_s" ? 3.5 : 3}>
                    <title>{`${dayName(point.day.from)}: ${of === "p50_s" ? words.figures.took.p50 : words.figures.took.p90} ${duration(point.seconds * 1000)}`}</title>
                  </circle>
                )}
              </For>
            </g>
          )}
        </For>
      </svg>
    </div>
  );
}

/** A round length of time in one unit: `10 min`. */
export function briefly(seconds: number): string {
  return duration(seconds * 1000).replace(/ 00? (?:s|min|h)$| 0 h$/, "");
}

/** A row of a list of bars: what it is about, a bar with its parts, and how many there are. */
export function BarRow(props: { name: JSX.Element; parts: readonly (readonly [Kind, number])[]; most: number }) {
  const all = () => props.parts.reduce((sum, [, count]) => sum + count, 0);
  return (
    <tr>
      <th scope="row">
        {props.name}
        <svg class="bar-svg" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
          <For each={stacked(props.parts, 100 / Math.max(1, props.most))}>
            {(part) => <rect class={`fill-${part.kind}`} x={part.from} y="0" width={part.length} height="10" />}
          </For>
        </svg>
      </th>
      <For each={props.parts}>{([kind, count]) => <td class="number" data-kind={kind}>{count}</td>}</For>
      <td class="number">
        <strong>{all()}</strong>
      </td>
    </tr>
  );
}

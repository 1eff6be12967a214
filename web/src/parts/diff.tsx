/* A unified diff, whole, with the line numbers of both sides: one below the other or side by side, as somebody likes it. */
import { createMemo, createSignal, For, Show } from "solid-js";
import { prefer, preferences } from "../state/preferences.ts";
import { isWide } from "../state/wide.ts";
import { changeWithin, counterparts, folded, parseDiff, repeatsPath, sideBySide, type DiffLine, type Sides } from "../text/diff.ts";
import { isOutside } from "../text/paths.ts";
import { words } from "../text/words.ts";
import type { Place } from "./command.tsx";
import { Alert, Columns, Lines } from "./icons.tsx";
import { Visible } from "./visible.tsx";

const MARKS: Readonly<Record<DiffLine["kind"], string>> = {
  context: " ",
  removed: "−",
  added: "+",
  hunk: "",
  note: "",
};

/** The columns of one side. */
const SIDE = ["number", "mark", "text"] as const;

export function DiffView(props: { path: string; patch: string; place?: Place | undefined }) {
  const diff = createMemo(() => parseDiff(props.patch));
  const lines = createMemo(() => diff().lines.filter((line) => !repeatsPath(line, props.path)));
  const others = createMemo(() => counterparts(lines()));
  const isSplit = () => isWide() && preferences().diff === "split";
  const isForeign = () => props.place !== undefined && isOutside(props.path, props.place.directory, props.place.root);
  return (
    <figure class="diff" classList={{ "diff-split": isSplit() }}>
      <figcaption>
        <span class="path">
          <Visible text={props.path} />
        </span>
        <Show when={isForeign()}>
          <OutsideChip />
        </Show>
        <span class="diff-count">
          <span class="diff-plus">+{diff().added}</span> <span class="diff-minus">−{diff().removed}</span>
        </span>
        <Show when={isWide()}>
          <LayoutSwitch />
        </Show>
      </figcaption>
      <div class="diff-scroll" tabindex="0">
        <table>
          <Show when={isSplit()}>
            <colgroup>
              <For each={[...SIDE, ...SIDE]}>{(column) => <col class={`diff-col-${column}`} />}</For>
            </colgroup>
          </Show>
          <tbody>
            <For each={folded(lines())}>
              {(stretch) => (
                <Stretch lines={stretch.lines} isFolded={stretch.kind === "folded"} isSplit={isSplit()} others={others()} />
              )}
            </For>
          </tbody>
        </table>
      </div>
    </figure>
  );
}

/** Says that something lies where the agent does not work. */
export function OutsideChip() {
  return (
    <strong class="chip chip-warning">
      <Alert /> {words.path.outside}
    </strong>
  );
}

/** Chooses for every diff on the page, and for those to come. */
function LayoutSwitch() {
  const isSplit = () => preferences().diff === "split";
  return (
    <button
      type="button"
      class="quiet diff-layout"
      aria-pressed={isSplit()}
      title={isSplit() ? words.diff.inline : words.diff.split}
      onClick={() => prefer({ diff: isSplit() ? "inline" : "split" })}
    >
      <Show when={isSplit()} fallback={<Columns />}>
        <Lines />
      </Show>
      <span class="unseen">{words.diff.split}</span>
    </button>
  );
}

type Others = ReadonlyMap<DiffLine, string>;

function Stretch(props: { lines: readonly DiffLine[]; isFolded: boolean; isSplit: boolean; others: Others }) {
  const [isOpen, setOpen] = createSignal(false);
  return (
    <Show
      when={!props.isFolded || isOpen()}
      fallback={
        <tr class="diff-fold">
          <td colSpan={props.isSplit ? 6 : 4}>
            <button type="button" class="quiet" onClick={() => setOpen(true)}>
              {words.diff.unfold(props.lines.length)}
            </button>
          </td>
        </tr>
      }
    >
      <Show when={props.isSplit} fallback={<For each={props.lines}>{(line) => <Line line={line} others={props.others} />}</For>}>
        <For each={sideBySide(props.lines)}>{(row) => <SplitLine row={row} others={props.others} />}</For>
      </Show>
    </Show>
  );
}

function Line(props: { line: DiffLine; others: Others }) {
  return (
    <tr class={`diff-${props.line.kind}`}>
      <td class="diff-number">{"before" in props.line ? props.line.before : ""}</td>
      <td class="diff-number">{"after" in props.line ? props.line.after : ""}</td>
      <Mark line={props.line} />
      <Text line={props.line} others={props.others} />
    </tr>
  );
}

function SplitLine(props: { row: Sides; others: Others }) {
  const sides = () => ("whole" in props.row ? undefined : props.row);
  const whole = () => ("whole" in props.row ? props.row.whole : undefined);
  return (
    <Show
      when={sides()}
      fallback={
        <tr class={`diff-${whole()?.kind}`}>
          <td class="diff-text" colSpan={6}>
            <Visible text={whole()?.text ?? ""} />
          </td>
        </tr>
      }
    >
      {(row) => (
        <tr>
          <Half line={row().before} number={numberOf(row().before, "before")} others={props.others} />
          <Half line={row().after} number={numberOf(row().after, "after")} others={props.others} />
        </tr>
      )}
    </Show>
  );
}

function numberOf(line: DiffLine | undefined, side: "before" | "after"): number | "" {
  if (line === undefined) return "";
  if (side === "before" && "before" in line) return line.before;
  return side === "after" && "after" in line ? line.after : "";
}

function Half(props: { line: DiffLine | undefined; number: number | ""; others: Others }) {
  return (
    <Show when={props.line} fallback={<td class="diff-nothing" colSpan={3} aria-label={words.diff.nothing} />}>
      {(line) => (
        <>
          <td class={`diff-number diff-${line().kind}`}>{props.number}</td>
          <Mark line={line()} />
          <Text line={line()} others={props.others} />
        </>
      )}
    </Show>
  );
}

function Mark(props: { line: DiffLine }) {
  return (
    <td class={`diff-mark diff-${props.line.kind}`}>
      {MARKS[props.line.kind]}
      <Show when={props.line.kind === "added" || props.line.kind === "removed"}>
        <span class="unseen">{props.line.kind === "added" ? words.diff.added : words.diff.removed}: </span>
      </Show>
    </td>
  );
}

/** A line's text; where it only differs in part from its counterpart, that part stands out. */
function Text(props: { line: DiffLine; others: Others }) {
  const change = createMemo(() => {
    const other = props.others.get(props.line);
    if (other === undefined) return undefined;
    const isAdded = props.line.kind === "added";
    const found = isAdded ? changeWithin(other, props.line.text) : changeWithin(props.line.text, other);
    return found === undefined ? undefined : { ...found, own: isAdded ? found.after : found.before };
  });
  return (
    <td class={`diff-text diff-${props.line.kind}`}>
      <Show when={change()} fallback={<Visible text={props.line.text} />}>
        {(parts) => (
          <>
            <Visible text={parts().head} />
            <span class="diff-change">
              <Visible text={parts().own} />
            </span>
            <Visible text={parts().tail} />
          </>
        )}
      </Show>
    </td>
  );
}

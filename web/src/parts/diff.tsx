/* A unified diff, whole, with the line numbers of both sides. */
import { createMemo, For, Show } from "solid-js";
import { parseDiff, repeatsPath, type DiffLine } from "../text/diff.ts";
import { Visible } from "./visible.tsx";

const MARKS: Readonly<Record<DiffLine["kind"], string>> = {
  context: " ",
  removed: "−",
  added: "+",
  hunk: "",
  note: "",
};

export function DiffView(props: { path: string; patch: string }) {
  const diff = createMemo(() => parseDiff(props.patch));
  const lines = () => diff().lines.filter((line) => !repeatsPath(line, props.path));
  return (
    <figure class="diff">
      <figcaption>
        <span class="path">
          <Visible text={props.path} />
        </span>
        <span class="diff-count">
          <span class="diff-plus">+{diff().added}</span> <span class="diff-minus">−{diff().removed}</span>
        </span>
      </figcaption>
      <div class="diff-scroll" tabindex="0">
        <table>
          <tbody>
            <For each={lines()}>{(line) => <Line line={line} />}</For>
          </tbody>
        </table>
      </div>
    </figure>
  );
}

function Line(props: { line: DiffLine }) {
  return (
    <tr class={`diff-${props.line.kind}`}>
      <td class="diff-number">{"before" in props.line ? props.line.before : ""}</td>
      <td class="diff-number">{"after" in props.line ? props.line.after : ""}</td>
      <td class="diff-mark">
        {MARKS[props.line.kind]}
        <Show when={props.line.kind === "added" || props.line.kind === "removed"}>
          <span class="unseen">{props.line.kind}: </span>
        </Show>
      </td>
      <td class="diff-text">
        <Visible text={props.line.text} />
      </td>
    </tr>
  );
}

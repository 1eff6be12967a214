/* What a person has to see to decide, complete. */
import { For, Match, Show, Switch } from "solid-js";
import type { AskView, PermissionSubject, Shown, WriteSubject } from "../api/types.ts";
import { ledger } from "../state/live.ts";
import { deceptiveIn } from "../text/visible.ts";
import { words } from "../text/words.ts";
import { Command, type Place } from "./command.tsx";
import { DiffView, OutsideChip } from "./diff.tsx";
import { Alert } from "./icons.tsx";
import { Long } from "./long.tsx";
import { Visible } from "./visible.tsx";

/** Where the one who asks works, and what it should not leave; nothing if the workspace is not known. */
function placeOf(ask: AskView): Place | undefined {
  const root = ledger().workspaces.find((workspace) => workspace.id === ask.workspace)?.path;
  return root === undefined ? undefined : { directory: ask.directory, root };
}

export function ShownParts(props: { ask: AskView; subject: PermissionSubject }) {
  return (
    <div class="shown">
      <HiddenWarning count={hiddenIn(textsOf(props.subject))} />
      <For each={props.subject.shown} fallback={<Targets targets={props.subject.targets} />}>
        {(part) => <Part part={part} place={placeOf(props.ask)} />}
      </For>
    </div>
  );
}

/** What a client proposes: the change of every file, whole. */
export function WriteParts(props: { ask: AskView; subject: WriteSubject }) {
  const texts = () => [
    props.subject.summary,
    ...props.subject.paths,
    ...props.subject.changes.flatMap(({ path, patch }) => [path, patch]),
  ];
  return (
    <div class="shown">
      <HiddenWarning count={hiddenIn(texts())} />
      <p>
        <Visible text={props.subject.summary} />
      </p>
      <For each={props.subject.changes} fallback={<Targets targets={props.subject.paths} />}>
        {(change) => (
          <Show when={change.patch !== ""} fallback={<Unchanged path={change.path} />}>
            <DiffView path={change.path} patch={change.patch} place={placeOf(props.ask)} />
          </Show>
        )}
      </For>
    </div>
  );
}

function Unchanged(props: { path: string }) {
  return (
    <p class="shown-path">
      <span class="path">
        <Visible text={props.path} />
      </span>{" "}
      <span class="muted">{words.shown.same}</span>
    </p>
  );
}

function HiddenWarning(props: { count: number }) {
  return (
    <Show when={props.count > 0}>
      <p class="note note-warning">
        <Alert />
        <span>
          {words.shown.hidden(props.count)}{" "}
          <mark class="deceptive">⟨U+…⟩</mark>.
        </span>
      </p>
    </Show>
  );
}

/** The targets of a tool, word for word. */
export function Targets(props: { targets: readonly string[] }) {
  return (
    <ul class="targets">
      <For each={props.targets} fallback={<li class="muted">{words.shown.noTarget}</li>}>
        {(target) => (
          <li>
            <pre class="code" tabindex="0">
              <Long text={target} />
            </pre>
          </li>
        )}
      </For>
    </ul>
  );
}

function Part(props: { part: Shown; place: Place | undefined }) {
  const of = <K extends Shown["kind"]>(kind: K) =>
    props.part.kind === kind ? (props.part as Extract<Shown, { kind: K }>) : undefined;
  return (
    <Switch>
      <Match when={of("command")}>{(command) => <Command text={command().text} place={props.place} />}</Match>
      <Match when={of("diff")}>{(diff) => <DiffView path={diff().path} patch={diff().patch} place={props.place} />}</Match>
      <Match when={of("path")}>
        {(path) => (
          <p class="shown-path">
            <span class="path">
              <Visible text={path().path} />
            </span>
            <Show when={path().outside}>
              <OutsideChip />
            </Show>
          </p>
        )}
      </Match>
      <Match when={of("text")}>
        {(text) => (
          <section class="shown-text">
            <h3>
              <Visible text={text().label} />
            </h3>
            <pre class="code" tabindex="0">
              <Long text={text().text} />
            </pre>
          </section>
        )}
      </Match>
    </Switch>
  );
}

function textsOf(subject: PermissionSubject): string[] {
  const texts = subject.shown.flatMap((part) =>
    Object.entries(part).flatMap(([name, value]) => (name !== "kind" && typeof value === "string" ? [value] : [])),
  );
  return [...texts, ...(subject.shown.length === 0 ? subject.targets : [])];
}

function hiddenIn(texts: readonly string[]): number {
  return texts.reduce((count, text) => count + deceptiveIn(text), 0);
}

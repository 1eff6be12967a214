/* What a person has to see to decide, complete. */
import { For, Match, Show, Switch } from "solid-js";
import type { PermissionSubject, Shown } from "../api/types.ts";
import { segments } from "../text/visible.ts";
import { plural } from "../text/phrases.ts";
import { Command } from "./command.tsx";
import { DiffView } from "./diff.tsx";
import { Alert } from "./icons.tsx";
import { Visible } from "./visible.tsx";

export function ShownParts(props: { subject: PermissionSubject }) {
  const hidden = () => hiddenIn(props.subject);
  return (
    <div class="shown">
      <Show when={hidden() > 0}>
        <p class="note note-warning">
          <Alert />
          <span>
            {plural(hidden(), "character")} below cannot be seen or reorder the text. They are written out as{" "}
            <mark class="deceptive">⟨U+…⟩</mark>.
          </span>
        </p>
      </Show>
      <For each={props.subject.shown} fallback={<Targets targets={props.subject.targets} />}>
        {(part) => <Part part={part} />}
      </For>
    </div>
  );
}

/** The targets of a tool, word for word. */
export function Targets(props: { targets: readonly string[] }) {
  return (
    <ul class="targets">
      <For each={props.targets} fallback={<li class="muted">The engine named no target.</li>}>
        {(target) => (
          <li>
            <pre class="code" tabindex="0">
              <Visible text={target} />
            </pre>
          </li>
        )}
      </For>
    </ul>
  );
}

function Part(props: { part: Shown }) {
  const of = <K extends Shown["kind"]>(kind: K) =>
    props.part.kind === kind ? (props.part as Extract<Shown, { kind: K }>) : undefined;
  return (
    <Switch>
      <Match when={of("command")}>{(command) => <Command text={command().text} />}</Match>
      <Match when={of("diff")}>{(diff) => <DiffView path={diff().path} patch={diff().patch} />}</Match>
      <Match when={of("path")}>
        {(path) => (
          <p class="shown-path">
            <span class="path">
              <Visible text={path().path} />
            </span>
            <Show when={path().outside}>
              <strong class="chip chip-warning">
                <Alert /> outside the workspace
              </strong>
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
              <Visible text={text().text} />
            </pre>
          </section>
        )}
      </Match>
    </Switch>
  );
}

function hiddenIn(subject: PermissionSubject): number {
  const texts = subject.shown.flatMap((part) =>
    Object.entries(part).flatMap(([name, value]) => (name !== "kind" && typeof value === "string" ? [value] : [])),
  );
  return [...texts, ...(subject.shown.length === 0 ? subject.targets : [])]
    .flatMap((text) => segments(text))
    .filter((segment) => segment.deceptive).length;
}

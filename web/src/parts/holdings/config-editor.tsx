/* The configuration as it is written: lines with their numbers, what is wrong and where, and what would change. */
import { createEffect, createMemo, createSignal, For, Match, on, onCleanup, Show, Switch } from "solid-js";
import { ApiError, previewChange } from "../../api/client.ts";
import type { Holdings, TextProblem } from "../../api/types.ts";
import { configDraft, keepConfigDraft } from "../../state/holdings.ts";
import { words } from "../../text/words.ts";
import { Alert, Check } from "../icons.tsx";
import { Sentence } from "../sentence.tsx";
import { Visible } from "../visible.tsx";
import { ChangeDialog } from "./change-dialog.tsx";

/** While somebody types, nothing is checked. */
const PAUSE_MS = 300;
/** What there is to begin with where there is nothing. */
const FIRST = '{\n  "$schema": "https://opencode.ai/config.json"\n}\n';
const NONE = "none";

type Checked = { is: "checking" } | { is: "sound" } | { is: "wrong"; problems: readonly TextProblem[]; sentence: string };

export function ConfigEditor(props: { workspace: string; holdings: Holdings; mayWrite: boolean }) {
  const file = () => props.holdings.config;
  const digest = () => file().digest ?? NONE;
  const draft = () => configDraft(props.workspace);
  const text = () => draft()?.text ?? file().text ?? (props.mayWrite ? FIRST : "");
  const isDirty = () => draft() !== undefined && draft()?.text !== file().text;
  const isNewer = () => isDirty() && draft()?.read !== digest();
  const [isLooking, setLooking] = createSignal(false);
  const [check, setCheck] = createSignal<Checked>({ is: "sound" });
  const write = (next: string) => keepConfigDraft(props.workspace, { text: next, read: draft()?.read ?? digest() });
  const forget = () => keepConfigDraft(props.workspace, undefined);
  // What became of the file is the draft, or the draft is of another file.
  createEffect(() => {
    if (draft() !== undefined && draft()?.text === file().text) forget();
  });
  createEffect(
    on([text, file], () => {
      if (!isDirty()) {
        const { problems } = file();
        const first = problems[0];
        setCheck(first === undefined ? { is: "sound" } : { is: "wrong", problems, sentence: first.message });
        return;
      }
      let isOld = false;
      setCheck({ is: "checking" });
      const look = async () => {
        try {
          await previewChange(props.workspace, { kind: "write_config", text: text() });
          if (!isOld) setCheck({ is: "sound" });
        } catch (error) {
          if (isOld || !(error instanceof ApiError)) return;
          const problems = (error.details["problems"] as TextProblem[] | undefined) ?? [];
          setCheck({ is: "wrong", problems, sentence: error.message });
        }
      };
      const timer = setTimeout(() => void look(), PAUSE_MS);
      onCleanup(() => {
        isOld = true;
        clearTimeout(timer);
      });
    }),
  );
  const problems = () => {
    const found = check();
    return found.is === "wrong" ? found.problems : [];
  };
  let field: HTMLTextAreaElement | undefined;
  const goTo = (problem: TextProblem) => {
    if (field === undefined) return;
    const before = text().split("\n").slice(0, problem.line - 1);
    const line = text().split("\n")[problem.line - 1] ?? "";
    // Columns are counted in characters, and the field counts in units of UTF-16.
    const within = Array.from(line).slice(0, problem.column - 1).join("").length;
    const at = before.join("\n").length + (before.length > 0 ? 1 : 0) + within;
    field.focus();
    field.setSelectionRange(at, at + 1);
  };
  return (
    <section class="config">
      <p class="path muted">
        <Visible text={file().path} />
      </p>
      <Show when={file().text === undefined && props.mayWrite}>
        <p class="muted">{words.configFile.absent}</p>
      </Show>
      <Show when={isNewer()}>
        <p class="note note-warning" role="alert">
          <Alert />
          <span>{words.configFile.changed}</span>
        </p>
      </Show>
      <LineEditor
        label={words.configFile.label}
        text={text()}
        problems={problems()}
        isFixed={!props.mayWrite}
        write={write}
        ref={(element) => (field = element)}
      />
      <div class="config-state" aria-live="polite">
        <Switch>
          <Match when={check().is === "checking"}>
            <p class="muted">{words.configFile.checking}</p>
          </Match>
          <Match when={check().is === "sound"}>
            <p class="config-sound">
              <Check /> {words.configFile.sound}
            </p>
          </Match>
          <Match when={check().is === "wrong" ? (check() as Extract<Checked, { is: "wrong" }>) : undefined}>
            {(wrong) => (
              <ul class="config-problems">
                <For
                  each={wrong().problems}
                  fallback={
                    <li class="note note-error">
                      <Alert />
                      <span>
                        <Sentence text={wrong().sentence} />
                      </span>
                    </li>
                  }
                >
                  {(problem) => (
                    <li>
                      <button type="button" class="note note-error" onClick={() => goTo(problem)}>
                        <Alert />
                        <span>
                          <strong>{words.configFile.problem(problem.line, problem.column)}</strong> {problem.message}
                        </span>
                      </button>
                    </li>
                  )}
                </For>
              </ul>
            )}
          </Match>
        </Switch>
      </div>
      <Show when={props.mayWrite}>
        <div class="config-buttons">
          <p class="muted">{words.configFile.comments}</p>
          <Show when={isDirty()}>
            <button type="button" class="quiet" onClick={forget}>
              {words.configFile.reset}
            </button>
          </Show>
          <button
            type="button"
            class="primary"
            disabled={check().is !== "sound" || (!isDirty() && file().text !== undefined)}
            onClick={() => {
              if (draft() === undefined) write(text());
              setLooking(true);
            }}
          >
            {words.holdings.look}
          </button>
        </div>
      </Show>
      <Show when={isLooking() ? draft() : undefined}>
        {(kept) => (
          <ChangeDialog
            workspace={props.workspace}
            change={{ kind: "write_config", text: kept().text }}
            read={kept().read}
            takeTheirs={() => {
              setLooking(false);
              forget();
            }}
            done={() => {
              setLooking(false);
              forget();
            }}
            close={() => setLooking(false)}
          />
        )}
      </Show>
    </section>
  );
}

/** A text with the numbers of its lines; those with a problem are marked. */
function LineEditor(props: {
  label: string;
  text: string;
  problems: readonly TextProblem[];
  isFixed: boolean;
  write: (text: string) => void;
  ref: (field: HTMLTextAreaElement) => void;
}) {
  const count = createMemo(() => props.text.split("\n").length);
  const wrong = createMemo(() => new Set(props.problems.map((problem) => problem.line)));
  let gutter: HTMLDivElement | undefined;
  return (
    <div class="editor" classList={{ "editor-wrong": props.problems.length > 0 }}>
      <div class="editor-gutter" aria-hidden="true" ref={(element) => (gutter = element)}>
        <For each={Array.from({ length: count() }, (_, index) => index + 1)}>
          {(line) => <span classList={{ "editor-bad-line": wrong().has(line) }}>{line}</span>}
        </For>
      </div>
      <textarea
        class="editor-text"
        aria-label={props.label}
        aria-invalid={props.problems.length > 0}
        wrap="off"
        spellcheck={false}
        autocapitalize="off"
        readOnly={props.isFixed}
        rows={Math.min(Math.max(count(), 8), 32)}
        value={props.text}
        ref={(element) => props.ref(element)}
        onInput={(event) => props.write(event.currentTarget.value)}
        onScroll={(event) => {
          if (gutter !== undefined) gutter.scrollTop = event.currentTarget.scrollTop;
        }}
      />
    </div>
  );
}

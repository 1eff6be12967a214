/* What a workspace holds, for another one: exported into a file, and taken in from one after a look. */
import { createSignal, For, onCleanup, Show } from "solid-js";
import { readExport, sentenceOf } from "../../api/client.ts";
import type { Export, NewChange } from "../../api/types.ts";
import { words } from "../../text/words.ts";
import { Visible } from "../visible.tsx";
import { Alert, Check } from "../icons.tsx";
import { Problem } from "../problem.tsx";
import { Reviewing } from "./acts.tsx";
import { Field } from "./form.tsx";

const MODES = ["merge", "replace"] as const;

export function Exchange(props: { workspace: string; name: string; mayWrite: boolean }) {
  return (
    <div class="exchange">
      <ExportPart workspace={props.workspace} name={props.name} />
      <Show when={props.mayWrite}>
        <ImportPart workspace={props.workspace} />
      </Show>
    </div>
  );
}

function ExportPart(props: { workspace: string; name: string }) {
  const [made, setMade] = createSignal<{ export: Export; url: string }>();
  const [problem, setProblem] = createSignal<string>();
  const [isBusy, setBusy] = createSignal(false);
  const forget = () => {
    const known = made();
    if (known !== undefined) URL.revokeObjectURL(known.url);
  };
  onCleanup(forget);
  const make = async () => {
    setBusy(true);
    try {
      const read = await readExport(props.workspace);
      const file = new Blob([`${JSON.stringify(read.export, undefined, 2)}\n`], { type: "application/json" });
      forget();
      setMade({ export: read, url: URL.createObjectURL(file) });
      setProblem(undefined);
    } catch (error) {
      setProblem(sentenceOf(error));
    }
    setBusy(false);
  };
  return (
    <section class="card" aria-labelledby="export-title">
      <h3 id="export-title">{words.exchange.export}</h3>
      <p class="muted">{words.exchange.exportSays}</p>
      <Problem sentence={problem()} />
      <Show
        when={made()}
        fallback={
          <button type="button" disabled={isBusy()} onClick={() => void make()}>
            {isBusy() ? words.exchange.making : words.exchange.make}
          </button>
        }
      >
        {(ready) => (
          <>
            <Show
              when={ready().export.warnings.length > 0}
              fallback={
                <p class="config-sound">
                  <Check /> {words.exchange.noSecrets}
                </p>
              }
            >
              <div class="note note-warning" role="alert">
                <Alert />
                <div class="note-text">
                  {words.exchange.secrets}
                  <ul>
                    <For each={ready().export.warnings}>
                      {(warning) => (
                        <li>
                          <strong>
                            <Visible text={warning.label} />
                          </strong>
                          : <Visible text={warning.detail} />
                        </li>
                      )}
                    </For>
                  </ul>
                </div>
              </div>
            </Show>
            <a class="button" href={ready().url} download={words.exchange.fileName(props.name)}>
              {words.exchange.download}
            </a>
          </>
        )}
      </Show>
    </section>
  );
}

function ImportPart(props: { workspace: string }) {
  const [taken, setTaken] = createSignal<Record<string, unknown>>();
  const [mode, setMode] = createSignal<(typeof MODES)[number]>("merge");
  const [problem, setProblem] = createSignal<string>();
  const [change, setChange] = createSignal<NewChange>();
  const take = async (file: File | undefined) => {
    setTaken(undefined);
    setProblem(undefined);
    if (file === undefined) return;
    const read = exportIn(await file.text());
    if (read === undefined) setProblem(words.exchange.noExport);
    else setTaken(read);
  };
  return (
    <section class="card" aria-labelledby="import-title">
      <h3 id="import-title">{words.exchange.import}</h3>
      <p class="muted">{words.exchange.importSays}</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const read = taken();
          if (read !== undefined) {
            setChange({ kind: "import", export: read as Record<string, never>, replace: mode() === "replace" });
          }
        }}
      >
        <Field label={words.exchange.file}>
          {(id) => (
            <input
              type="file"
              id={id}
              accept=".json,application/json"
              onChange={(event) => void take(event.currentTarget.files?.[0])}
            />
          )}
        </Field>
        <Problem sentence={problem()} />
        <Show when={taken()}>
          {(read) => <p class="muted">{words.exchange.contents(lengthOf(read()["skills"]), lengthOf(read()["commands"]))}</p>}
        </Show>
        <fieldset>
          <legend>{words.exchange.mode}</legend>
          <For each={MODES}>
            {(each) => (
              <label class="choice">
                <input type="radio" name="import-mode" checked={mode() === each} onChange={() => setMode(each)} />
                <span>{words.exchange.modes[each]}</span>
              </label>
            )}
          </For>
        </fieldset>
        <button type="submit" disabled={taken() === undefined}>
          {words.holdings.look}
        </button>
      </form>
      <Reviewing workspace={props.workspace} change={change()} forget={() => setChange(undefined)} />
    </section>
  );
}

/** The export in a text; nothing if there is none in it. */
function exportIn(text: string): Record<string, unknown> | undefined {
  try {
    const read = JSON.parse(text) as unknown;
    if (typeof read !== "object" || read === null || Array.isArray(read)) return undefined;
    const parts = ["opencode", "openwork", "skills", "commands"];
    return parts.some((part) => part in read) ? (read as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}

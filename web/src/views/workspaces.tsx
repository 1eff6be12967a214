/* The workspaces, and the one that is chosen. */
import { createMemo, createSignal, For, Show } from "solid-js";
import { addWorkspace, sentenceOf } from "../api/client.ts";
import type { WorkspaceView } from "../api/types.ts";
import { Dialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/holdings/form.tsx";
import { Back } from "../parts/icons.tsx";
import { Problem } from "../parts/problem.tsx";
import { Visible } from "../parts/visible.tsx";
import { fragmentOf, goTo, route } from "../router.ts";
import { holds, me } from "../state/identity.ts";
import { bindKeys } from "../state/keys.ts";
import { openAsks } from "../state/ledger.ts";
import { isLoaded, ledger, learnWorkspaces } from "../state/live.ts";
import { words } from "../text/words.ts";
import { Workspace } from "./workspace.tsx";

export function Workspaces() {
  const [isAdding, setAdding] = createSignal(false);
  const chosen = createMemo(() => {
    const at = route();
    return at.page === "workspace" ? at.workspace : undefined;
  });
  bindKeys(() => ({ back: () => goTo(chosen() === undefined ? { page: "inbox" } : { page: "workspaces" }) }));
  const mayAdd = () => holds("administer") && me().workspace === undefined;
  return (
    <main class="panes" data-chosen={chosen() === undefined ? undefined : ""}>
      <div class="pane-list">
        <section aria-labelledby="workspaces-title">
          <h2 id="workspaces-title" class="list-title">
            {words.workspaces.title}
          </h2>
          <ul class="rows">
            <For each={ledger().workspaces} fallback={<li class="rows-empty">{isLoaded() ? words.workspaces.none : words.reading}</li>}>
              {(workspace) => <WorkspaceRow workspace={workspace} isCurrent={chosen() === workspace.id} />}
            </For>
          </ul>
        </section>
        <Show when={mayAdd()}>
          <div>
            <button type="button" onClick={() => setAdding(true)}>
              {words.workspaces.add}
            </button>
          </div>
        </Show>
        <Show when={isAdding()}>
          <AddDialog close={() => setAdding(false)} />
        </Show>
      </div>
      <div class="pane-chosen">
        <a class="back" href={fragmentOf({ page: "workspaces" })}>
          <Back /> {words.workspaces.title}
        </a>
        <Show when={chosen()} keyed fallback={<p class="quiet-note muted">{words.workspaces.choose}</p>}>
          {(id) => <Workspace id={id} />}
        </Show>
      </div>
    </main>
  );
}

function WorkspaceRow(props: { workspace: WorkspaceView; isCurrent: boolean }) {
  const engine = () => props.workspace.engine;
  const hasEngine = () => engine().program !== "none";
  const open = () => openAsks(ledger()).filter((ask) => ask.workspace === props.workspace.id).length;
  return (
    <li class="row" classList={{ "row-current": props.isCurrent }} data-workspace={props.workspace.id}>
      <a
        href={fragmentOf({ page: "workspace", workspace: props.workspace.id, part: "config" })}
        aria-current={props.isCurrent ? "true" : undefined}
      >
        <span class="row-head">
          <span class={`dot dot-${hasEngine() ? engine().state : "none"}`} aria-hidden="true" />
          <span class="row-who">
            <Visible text={props.workspace.name} />
          </span>
          <Show when={open() > 0}>
            <span class="chip chip-waiting">{words.workspaces.waiting(open())}</span>
          </Show>
        </span>
        <span class="row-standing path">
          <Visible text={props.workspace.path} />
        </span>
        <span class="row-standing">
          <Show when={hasEngine()} fallback={words.workspaces.noEngine}>
            <Visible text={engine().program} /> {words.engines.states[engine().state]}
          </Show>
        </span>
      </a>
    </li>
  );
}

function AddDialog(props: { close: () => void }) {
  const [path, setPath] = createSignal("");
  const [name, setName] = createSignal("");
  const [isBusy, setBusy] = createSignal(false);
  const [problem, setProblem] = createSignal<string>();
  const add = async () => {
    setBusy(true);
    try {
      const added = await addWorkspace(path().trim(), name().trim());
      learnWorkspaces();
      props.close();
      goTo({ page: "workspace", workspace: added.id, part: "config" });
    } catch (error) {
      setProblem(sentenceOf(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={words.workspaces.add} class="form-dialog" close={props.close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <TextField label={words.workspaces.path} hint={words.workspaces.pathHint} value={path()} write={setPath} isRequired isCode />
        <TextField label={words.workspaces.name} hint={words.workspaces.nameHint} value={name()} write={setName} />
        <Problem sentence={problem()} />
        <div class="dialog-buttons">
          <button type="button" onClick={() => props.close()}>
            {words.cancel}
          </button>
          <button type="submit" class="primary" disabled={isBusy()}>
            {isBusy() ? words.workspaces.adding : words.workspaces.add}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

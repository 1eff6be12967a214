/* The engines of the workspaces, and how strong consent is with them. */
import { For, Show } from "solid-js";
import type { WorkspaceView } from "../api/types.ts";
import { ledger } from "../state/live.ts";
import { words } from "../text/words.ts";
import { Alert, Shield } from "./icons.tsx";
import { Sentence } from "./sentence.tsx";
import { Visible } from "./visible.tsx";

/** Whether a workspace was meant to have no engine of its own: that is a choice, and no trouble. */
function isWithout({ engine }: WorkspaceView): boolean {
  return engine.program === "none";
}

/** The engines that cannot be worked with just now, with what to do about it. */
export function EngineTroubles() {
  const isTroubled = ({ engine }: WorkspaceView) => engine.state !== "ready" && engine.state !== "starting";
  const troubled = () => ledger().workspaces.filter((workspace) => isTroubled(workspace) && !isWithout(workspace));
  return (
    <For each={troubled()}>
      {(workspace) => (
        <p class="note note-warning">
          <Alert />
          <span>
            <strong>
              <Visible text={workspace.engine.program} /> {words.engines.states[workspace.engine.state]}
            </strong>{" "}
            {words.engines.in} <Visible text={workspace.name} />
            <Show when={workspace.engine.message !== ""}>
              {": "}
              <Sentence text={workspace.engine.message} />
            </Show>
          </span>
        </p>
      )}
    </For>
  );
}

export function EngineList() {
  return (
    <section class="engines" aria-labelledby="engines-title">
      <h2 id="engines-title" class="list-title">
        {words.engines.title}
      </h2>
      <ul>
        <For each={ledger().workspaces}>{(workspace) => <Engine workspace={workspace} />}</For>
      </ul>
    </section>
  );
}

function Engine(props: { workspace: WorkspaceView }) {
  const engine = () => props.workspace.engine;
  return (
    <li class="engine">
      <p>
        <strong>
          <Visible text={props.workspace.name} />
        </strong>{" "}
        <span class={`dot dot-${engine().state}`} aria-hidden="true" />{" "}
        <Show when={!isWithout(props.workspace)} fallback={<span>{words.engines.none}</span>}>
          <span>
            {engine().program}
            <Show when={engine().version}>{(version) => <> {version()}</>}</Show> {words.engines.states[engine().state]}
          </span>
        </Show>
      </p>
      <p class="path muted">
        <Visible text={props.workspace.path} />
      </p>
    </li>
  );
}

/** Says openly what an answer is worth. */
export function ConsentNote() {
  return (
    <details class="consent">
      <summary>
        <Shield /> {words.engines.relay}
      </summary>
      <div class="consent-text">
        <p>
          <strong>{words.engines.relayed}</strong> {words.engines.relayedMeans}
        </p>
        <p>
          {words.engines.relayedNot}
        </p>
      </div>
    </details>
  );
}

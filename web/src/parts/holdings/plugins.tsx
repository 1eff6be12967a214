/* The plugins of a workspace: added and taken out. */
import { createSignal, For, Show } from "solid-js";
import type { NewChange, PluginView } from "../../api/types.ts";
import { words } from "../../text/words.ts";
import { Alert } from "../icons.tsx";
import { Visible } from "../visible.tsx";
import { Act, Nothing, Reviewing } from "./acts.tsx";
import { TextField } from "./form.tsx";

export function Plugins(props: { workspace: string; plugins: readonly PluginView[]; mayWrite: boolean }) {
  const [spec, setSpec] = createSignal("");
  const [change, setChange] = createSignal<NewChange>();
  return (
    <section>
      <ul class="held">
        <For each={props.plugins} fallback={<Nothing text={words.plugins.none} />}>
          {(plugin) => (
            <li>
              <div class="held-text">
                <code>
                  <Visible text={plugin.path ?? plugin.spec} />
                </code>
                <Show when={plugin.path !== undefined}>
                  {" "}
                  <span class="chip">{words.plugins.file}</span>
                </Show>
                <Show when={plugin.belongs === "user"}>
                  {" "}
                  <span class="chip">{words.holdings.yours}</span>
                </Show>
              </div>
              <Show when={props.mayWrite && plugin.belongs === "workspace" && plugin.path === undefined}>
                <div class="held-acts">
                  <Act word={words.holdings.takeOut} label={words.holdings.takeOutNamed(plugin.spec)} act={() => setChange({ kind: "remove_plugin", spec: plugin.spec })} />
                </div>
              </Show>
            </li>
          )}
        </For>
      </ul>
      <Show when={props.mayWrite}>
        <form
          class="inline-form"
          onSubmit={(event) => {
            event.preventDefault();
            setChange({ kind: "add_plugin", spec: spec().trim() });
          }}
        >
          <TextField label={words.plugins.spec} hint={words.plugins.specHint} value={spec()} write={setSpec} isRequired isCode />
          <p class="note note-warning">
            <Alert />
            <span>{words.plugins.warning}</span>
          </p>
          <button type="submit">{words.plugins.add}</button>
        </form>
      </Show>
      <Reviewing workspace={props.workspace} change={change()} done={() => setSpec("")} forget={() => setChange(undefined)} />
    </section>
  );
}

/* The MCP servers of a workspace: added, changed, switched on and off, taken out. */
import { createSignal, For, Match, Show, Switch } from "solid-js";
import type { McpView, NewChange } from "../../api/types.ts";
import { configOf, EMPTY_MCP, formOf, type McpKind } from "../../state/mcp-form.ts";
import { words } from "../../text/words.ts";
import { Visible } from "../visible.tsx";
import { Act, Nothing, Reviewing } from "./acts.tsx";
import { ChangeForm, TextArea, TextField } from "./form.tsx";

const KINDS: readonly McpKind[] = ["local", "remote"];

export function McpServers(props: { workspace: string; servers: readonly McpView[]; digest: string; mayWrite: boolean }) {
  const [edited, setEdited] = createSignal<McpView | "new">();
  const [change, setChange] = createSignal<NewChange>();
  const told = (server: McpView) => {
    const form = formOf(server.config);
    return form.kind === "remote" ? form.url : form.command.replaceAll("\n", " ");
  };
  return (
    <section>
      <ul class="held">
        <For each={props.servers} fallback={<Nothing text={words.mcp.none} />}>
          {(server) => (
            <li>
              <div class="held-text">
                <strong>
                  <Visible text={server.name} />
                </strong>{" "}
                <span class="chip">{words.mcp.kindNames[formOf(server.config).kind]}</span>
                <Show when={!server.enabled}>
                  {" "}
                  <span class="chip chip-warning">{words.mcp.off}</span>
                </Show>
                <Show when={server.denied}>
                  {" "}
                  <span class="chip chip-warning">{words.mcp.denied}</span>
                </Show>
                <Show when={server.belongs === "user"}>
                  {" "}
                  <span class="chip">{words.holdings.yours}</span>
                </Show>
                <p class="muted">
                  <code>
                    <Visible text={told(server)} />
                  </code>
                </p>
              </div>
              <Show when={props.mayWrite && server.belongs === "workspace"}>
                <div class="held-acts">
                  <Act word={server.enabled ? words.mcp.disable : words.mcp.enable} label={server.enabled ? words.mcp.disableNamed(server.name) : words.mcp.enableNamed(server.name)} act={() => setChange({ kind: "enable_mcp", name: server.name, enabled: !server.enabled })} />
                  <Act word={words.holdings.edit} label={words.holdings.editNamed(server.name)} act={() => setEdited(server)} />
                  <Act word={words.holdings.takeOut} label={words.holdings.takeOutNamed(server.name)} act={() => setChange({ kind: "remove_mcp", name: server.name })} />
                </div>
              </Show>
            </li>
          )}
        </For>
      </ul>
      <Show when={props.mayWrite}>
        <button type="button" onClick={() => setEdited("new")}>
          {words.mcp.add}
        </button>
      </Show>
      <Show when={edited()} keyed>
        {(server) => (
          <McpServerForm
            workspace={props.workspace}
            server={server === "new" ? undefined : server}
            read={props.digest}
            close={() => setEdited(undefined)}
          />
        )}
      </Show>
      <Reviewing workspace={props.workspace} change={change()} forget={() => setChange(undefined)} />
    </section>
  );
}

function McpServerForm(props: { workspace: string; server: McpView | undefined; read: string; close: () => void }) {
  // The file as it was when the form was opened, whatever is read meanwhile.
  const read = props.read;
  const before = props.server?.config ?? {};
  const [name, setName] = createSignal(props.server?.name ?? "");
  const [form, setForm] = createSignal(props.server === undefined ? EMPTY_MCP : formOf(before));
  const set = (part: Partial<ReturnType<typeof form>>) => setForm({ ...form(), ...part });
  const change = (): NewChange | string => {
    const meant = configOf(form(), before);
    return "config" in meant ? { kind: "set_mcp", name: name(), config: meant.config as Record<string, never> } : words.mcp.badLine(meant.badLine);
  };
  return (
    <ChangeForm
      title={props.server === undefined ? words.mcp.new : words.holdings.editNamed(props.server.name)}
      workspace={props.workspace}
      read={read}
      change={change}
      close={props.close}
    >
      <Show when={props.server === undefined}>
        <TextField label={words.mcp.name} hint={words.mcp.nameHint} value={name()} write={setName} isRequired isCode />
      </Show>
      <fieldset>
        <legend>{words.mcp.kind}</legend>
        <div class="choices-row">
          <For each={KINDS}>
            {(kind) => (
              <label class="choice">
                <input type="radio" name="mcp-kind" checked={form().kind === kind} onChange={() => set({ kind })} />
                <span>{words.mcp.kinds[kind]}</span>
              </label>
            )}
          </For>
        </div>
      </fieldset>
      <Switch>
        <Match when={form().kind === "local"}>
          <TextArea
            label={words.mcp.command}
            hint={words.mcp.commandHint}
            value={form().command}
            write={(command) => set({ command })}
            isRequired
            isCode
          />
          <TextArea
            label={words.mcp.environment}
            hint={words.mcp.environmentHint}
            value={form().environment}
            write={(environment) => set({ environment })}
            isCode
            rows={3}
          />
        </Match>
        <Match when={form().kind === "remote"}>
          <TextField label={words.mcp.url} value={form().url} write={(url) => set({ url })} isRequired isCode />
          <TextArea
            label={words.mcp.headers}
            hint={words.mcp.headersHint}
            value={form().headers}
            write={(headers) => set({ headers })}
            isCode
            rows={3}
          />
        </Match>
      </Switch>
      <label class="choice">
        <input type="checkbox" checked={form().enabled} onChange={(event) => set({ enabled: event.currentTarget.checked })} />
        <span>{words.mcp.enabled}</span>
      </label>
    </ChangeForm>
  );
}

/* The commands of a workspace: made, changed and deleted. */
import { createSignal, For, Show } from "solid-js";
import type { CommandView, NewChange } from "../../api/types.ts";
import { words } from "../../text/words.ts";
import { Visible } from "../visible.tsx";
import { Act, Nothing, Reviewing } from "./acts.tsx";
import { ChangeForm, TextArea, TextField } from "./form.tsx";

export function Commands(props: { workspace: string; commands: readonly CommandView[]; mayWrite: boolean }) {
  const [edited, setEdited] = createSignal<CommandView | "new">();
  const [deleted, setDeleted] = createSignal<NewChange>();
  return (
    <section>
      <ul class="held">
        <For each={props.commands} fallback={<Nothing text={words.commands.none} />}>
          {(command) => (
            <li>
              <div class="held-text">
                <strong>
                  <code>
                    /<Visible text={command.name} />
                  </code>
                </strong>
                <p class="muted held-template">
                  <Visible text={command.description ?? command.template} />
                </p>
              </div>
              <Show when={props.mayWrite}>
                <div class="held-acts">
                  <Act word={words.holdings.edit} label={words.holdings.editNamed(command.name)} act={() => setEdited(command)} />
                  <Act word={words.holdings.remove} label={words.holdings.removeNamed(command.name)} act={() => setDeleted({ kind: "delete_command", name: command.name })} />
                </div>
              </Show>
            </li>
          )}
        </For>
      </ul>
      <Show when={props.mayWrite}>
        <button type="button" onClick={() => setEdited("new")}>
          {words.commands.add}
        </button>
      </Show>
      <Show when={edited()} keyed>
        {(command) => (
          <CommandForm workspace={props.workspace} command={command === "new" ? undefined : command} close={() => setEdited(undefined)} />
        )}
      </Show>
      <Reviewing workspace={props.workspace} change={deleted()} forget={() => setDeleted(undefined)} />
    </section>
  );
}

function CommandForm(props: { workspace: string; command: CommandView | undefined; close: () => void }) {
  const [name, setName] = createSignal(props.command?.name ?? "");
  const [description, setDescription] = createSignal(props.command?.description ?? "");
  const [template, setTemplate] = createSignal(props.command?.template ?? "");
  const [agent, setAgent] = createSignal(props.command?.agent ?? "");
  const [model, setModel] = createSignal(props.command?.model ?? "");
  const [subtask, setSubtask] = createSignal(props.command?.subtask ?? false);
  return (
    <ChangeForm
      title={props.command === undefined ? words.commands.new : words.holdings.editNamed(`/${props.command.name}`)}
      workspace={props.workspace}
      change={() => ({
        kind: "set_command",
        name: name(),
        description: description(),
        template: template(),
        agent: agent(),
        model: model(),
        subtask: subtask(),
      })}
      close={props.close}
    >
      <Show when={props.command === undefined}>
        <TextField label={words.commands.name} hint={words.commands.nameHint} value={name()} write={setName} isRequired isCode />
      </Show>
      <TextField label={words.commands.description} value={description()} write={setDescription} />
      <TextArea label={words.commands.template} hint={words.commands.templateHint} value={template()} write={setTemplate} isRequired rows={6} />
      <details class="form-more">
        <summary>{words.commands.more}</summary>
        <TextField label={words.commands.agent} hint={words.commands.asTheSession} value={agent()} write={setAgent} isCode />
        <TextField label={words.commands.model} hint={words.commands.asTheSession} value={model()} write={setModel} isCode />
        <label class="choice">
          <input type="checkbox" checked={subtask()} onChange={(event) => setSubtask(event.currentTarget.checked)} />
          <span>{words.commands.subtask}</span>
        </label>
      </details>
    </ChangeForm>
  );
}

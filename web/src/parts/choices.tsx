/* What several dialogs want to know: a name, a role in words, a workspace, how long something lasts. */
import { createUniqueId, For, Show } from "solid-js";
import type { Role } from "../api/types.ts";
import { ledger } from "../state/live.ts";
import { visible } from "../text/visible.ts";
import { words } from "../text/words.ts";

export const LIVES = [
  { name: "hour", seconds: 3600 },
  { name: "day", seconds: 86_400 },
  { name: "week", seconds: 7 * 86_400 },
  { name: "month", seconds: 30 * 86_400 },
  { name: "season", seconds: 90 * 86_400 },
  { name: "year", seconds: 365 * 86_400 },
  { name: "endless", seconds: undefined },
] as const;
export type Life = (typeof LIVES)[number]["name"];

/** So many seconds; nothing for what has no end. */
export function secondsOf(life: Life): number | undefined {
  return LIVES.find(({ name }) => name === life)?.seconds;
}

export function NameField(props: { label: string; hint: string; name: string; set: (name: string) => void }) {
  const field = createUniqueId();
  return (
    <div class="field">
      <label for={field}>{props.label}</label>
      <input
        id={field}
        type="text"
        required
        maxLength={80}
        autocomplete="off"
        value={props.name}
        aria-describedby={`${field}-hint`}
        onInput={(event) => props.set(event.currentTarget.value)}
      />
      <small id={`${field}-hint`}>{props.hint}</small>
    </div>
  );
}

export function RoleChoice(props: { legend: string; roles: readonly Role[]; role: Role; set: (role: Role) => void }) {
  const group = createUniqueId();
  return (
    <fieldset>
      <legend>{props.legend}</legend>
      <For each={props.roles}>
        {(role) => (
          <label class="choice">
            <input type="radio" name={group} checked={props.role === role} onChange={() => props.set(role)} />
            <span>
              {words.roles.names[role]}
              <small>{words.roles.says[role]}</small>
            </span>
          </label>
        )}
      </For>
    </fieldset>
  );
}

export function LifeChoice(props: { legend: string; lives: readonly Life[]; life: Life; set: (life: Life) => void }) {
  const group = createUniqueId();
  return (
    <fieldset>
      <legend>{props.legend}</legend>
      <div class="choices-row">
        <For each={props.lives}>
          {(life) => (
            <label class="choice">
              <input type="radio" name={group} checked={props.life === life} onChange={() => props.set(life)} />
              <span>{words.access.lives[life]}</span>
            </label>
          )}
        </For>
      </div>
    </fieldset>
  );
}

/** One of the workspaces; `all` is what none of them is called, where that can be chosen. */
export function WorkspaceChoice(props: { label: string; all?: string | undefined; workspace: string | undefined; set: (workspace: string | undefined) => void }) {
  const field = createUniqueId();
  return (
    <div class="field">
      <label for={field}>{props.label}</label>
      <select id={field} onChange={(event) => props.set(event.currentTarget.value === "" ? undefined : event.currentTarget.value)}>
        <Show when={props.all}>
          {(all) => (
            <option value="" selected={props.workspace === undefined}>
              {all()}
            </option>
          )}
        </Show>
        <For each={ledger().workspaces}>
          {(workspace) => (
            <option value={workspace.id} selected={props.workspace === workspace.id}>
              {visible(workspace.name)}
            </option>
          )}
        </For>
      </select>
    </div>
  );
}

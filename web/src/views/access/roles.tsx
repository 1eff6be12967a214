/* What each role may do, in words. */
import { For, Show } from "solid-js";
import type { Grant } from "../../api/types.ts";
import { me } from "../../state/identity.ts";
import { ROLE_GRANTS, roleOf, ROLES } from "../../state/roles.ts";
import { words } from "../../text/words.ts";

/** The role that these grants are, with what it means to whoever points at it. */
export function RoleChip(props: { grants: readonly Grant[] }) {
  const role = () => roleOf(props.grants);
  return (
    <span class="chip" title={props.grants.map((grant) => words.roles.grants[grant]).join(", ")}>
      <Show when={role()} fallback={words.roles.custom}>
        {(known) => words.roles.names[known()]}
      </Show>
    </span>
  );
}

export function Roles() {
  return (
    <section class="records" aria-labelledby="roles-title">
      <h2 id="roles-title">{words.roles.title}</h2>
      <p class="muted">{words.roles.about}</p>
      <ul class="record-list">
        <For each={ROLES}>
          {(role) => (
            <li class="record">
              <div class="record-body">
                <h3 class="record-name">
                  {words.roles.names[role]}{" "}
                  <Show when={roleOf(me().grants) === role}>
                    <span class="chip chip-here">{words.roles.yours}</span>
                  </Show>
                </h3>
                <p>{words.roles.says[role]}</p>
                <ul class="role-grants">
                  <For each={ROLE_GRANTS[role]}>
                    {(grant) => (
                      <li>
                        <code class="grant">{grant}</code> <span class="muted">{words.roles.grants[grant]}</span>
                      </li>
                    )}
                  </For>
                </ul>
              </div>
            </li>
          )}
        </For>
      </ul>
    </section>
  );
}

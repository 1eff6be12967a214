/* Who may do what here: devices, rules, tokens, and what the roles mean. */
import { createMemo, For, Match, Switch } from "solid-js";
import { ACCESS_PARTS, fragmentOf, route } from "../router.ts";
import { words } from "../text/words.ts";
import { Devices } from "./access/devices.tsx";
import { Roles } from "./access/roles.tsx";
import { Rules } from "./access/rules.tsx";
import { Tokens } from "./access/tokens.tsx";

export function Access() {
  const part = createMemo(() => {
    const at = route();
    return at.page === "access" ? at.part : "devices";
  });
  return (
    <main class="page">
      <div class="page-column">
        <nav class="tabs" aria-label={words.access.title}>
          <For each={ACCESS_PARTS}>
            {(each) => (
              <a href={fragmentOf({ page: "access", part: each })} aria-current={part() === each ? "page" : undefined}>
                {words.access.parts[each]}
              </a>
            )}
          </For>
        </nav>
        <Switch>
          <Match when={part() === "devices"}>
            <Devices />
          </Match>
          <Match when={part() === "rules"}>
            <Rules />
          </Match>
          <Match when={part() === "tokens"}>
            <Tokens />
          </Match>
          <Match when={part() === "roles"}>
            <Roles />
          </Match>
        </Switch>
      </div>
    </main>
  );
}

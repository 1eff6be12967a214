/* The ledger: figures about asks for everybody who reads, and the audit for whoever administers. */
import { createMemo, For, Match, Switch } from "solid-js";
import { fragmentOf, LEDGER_PARTS, route } from "../router.ts";
import { words } from "../text/words.ts";
import { Audit } from "./ledger/audit.tsx";
import { FiguresPage } from "./ledger/figures.tsx";

export function Ledger() {
  const part = createMemo(() => {
    const at = route();
    return at.page === "ledger" ? at.part : "figures";
  });
  return (
    <main class="page">
      <div class="page-column page-wide">
        <nav class="tabs" aria-label={words.ledger.title}>
          <For each={LEDGER_PARTS}>
            {(each) => (
              <a href={fragmentOf({ page: "ledger", part: each })} aria-current={part() === each ? "page" : undefined}>
                {words.ledger.parts[each]}
              </a>
            )}
          </For>
        </nav>
        <Switch>
          <Match when={part() === "figures"}>
            <FiguresPage />
          </Match>
          <Match when={part() === "audit"}>
            <Audit />
          </Match>
        </Switch>
      </div>
    </main>
  );
}

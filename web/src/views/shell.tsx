/* What surrounds every page: navigation, the state of the connection, alarms, who is here. */
import { createMemo, createSignal, Match, Show, Switch } from "solid-js";
import iconUrl from "../icon.svg";
import { Alarms } from "../parts/alarms.tsx";
import { Announcer } from "../parts/announcer.tsx";
import { Keyboard } from "../parts/icons.tsx";
import { fragmentOf, route } from "../router.ts";
import { bindKeys } from "../state/keys.ts";
import { openAsks } from "../state/ledger.ts";
import { connection, ledger } from "../state/live.ts";
import { plural } from "../text/phrases.ts";
import { Account } from "./account.tsx";
import { Help } from "./help.tsx";
import { Inbox } from "./inbox.tsx";
import { Sessions } from "./sessions.tsx";

export function Shell() {
  const [isHelping, setHelping] = createSignal(false);
  bindKeys(() => ({ help: () => setHelping(true) }));
  const place = createMemo(() => (route().page === "inbox" || route().page === "ask" ? "inbox" : "sessions"));
  const open = createMemo(() => openAsks(ledger()).length);
  return (
    <div class="shell">
      <header class="bar">
        <h1 class="brand">
          <a href={fragmentOf({ page: "inbox" })}>
            <img src={iconUrl} alt="" width="24" height="24" />
            <span class="brand-name">Countersign</span>
          </a>
        </h1>
        <nav aria-label="Pages">
          <a href={fragmentOf({ page: "inbox" })} aria-current={place() === "inbox" ? "page" : undefined}>
            Inbox{" "}
            <Show when={open() > 0}>
              <span class="count" aria-label={plural(open(), "open ask")}>
                {open()}
              </span>
            </Show>
          </a>
          <a href={fragmentOf({ page: "sessions" })} aria-current={place() === "sessions" ? "page" : undefined}>
            Sessions
          </a>
        </nav>
        <ConnectionState />
        <button type="button" class="quiet help-button" aria-label="Keyboard help" onClick={() => setHelping(true)}>
          <Keyboard />
        </button>
        <Account />
      </header>
      <div class="banners">
        <Show when={connection() === "lost"}>
          <p class="stale" role="alert">
            <span class="spinner" aria-hidden="true" />
            Connection lost. What you see may be out of date. Reconnecting…
          </p>
        </Show>
        <Alarms />
      </div>
      <Switch>
        <Match when={place() === "inbox"}>
          <Inbox />
        </Match>
        <Match when={place() === "sessions"}>
          <Sessions />
        </Match>
      </Switch>
      <Announcer />
      <Show when={isHelping()}>
        <Help close={() => setHelping(false)} />
      </Show>
    </div>
  );
}

function ConnectionState() {
  const words = { connecting: "connecting…", live: "live", lost: "reconnecting…" } as const;
  return (
    <span class={`connection connection-${connection()}`}>
      <span class="dot" aria-hidden="true" /> <span class="connection-word">{words[connection()]}</span>
    </span>
  );
}

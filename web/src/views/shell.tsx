/* What surrounds every page: navigation, the state of the connection, alarms, who is here. */
import { createEffect, createMemo, createSignal, Match, Show, Switch } from "solid-js";
import iconUrl from "../icon.svg";
import { Alarms } from "../parts/alarms.tsx";
import { Announcer } from "../parts/announcer.tsx";
import { HeldAnswers } from "../parts/held.tsx";
import { Keyboard } from "../parts/icons.tsx";
import { Reminders } from "../parts/reminders.tsx";
import { fragmentOf, route, type Route } from "../router.ts";
import { isUpdateReady, takeUpdate } from "../state/app-shell.ts";
import { bindKeys } from "../state/keys.ts";
import { openAsks } from "../state/ledger.ts";
import { connection, ledger } from "../state/live.ts";
import { preferences } from "../state/preferences.ts";
import { words } from "../text/words.ts";
import { Account } from "./account.tsx";
import { History } from "./history.tsx";
import { Help } from "./help.tsx";
import { Inbox } from "./inbox.tsx";
import { Sessions } from "./sessions.tsx";

/** The page that a route is part of. */
const PLACES: Readonly<Record<Route["page"], "inbox" | "history" | "sessions">> = {
  inbox: "inbox",
  ask: "inbox",
  history: "history",
  sessions: "sessions",
  session: "sessions",
};

export function Shell() {
  const [isHelping, setHelping] = createSignal(false);
  bindKeys(() => ({ help: () => setHelping(true) }));
  createEffect(() => {
    const { theme } = preferences();
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  });
  const place = createMemo(() => PLACES[route().page]);
  const open = createMemo(() => openAsks(ledger()).length);
  return (
    <div class="shell">
      <header class="bar">
        <h1 class="brand">
          <a href={fragmentOf({ page: "inbox" })}>
            <img src={iconUrl} alt="" width="24" height="24" />
            <span class="brand-name">{words.shell.name}</span>
          </a>
        </h1>
        <nav aria-label={words.shell.pages}>
          <a href={fragmentOf({ page: "inbox" })} aria-current={place() === "inbox" ? "page" : place() === "history" ? "true" : undefined}>
            {words.inbox.title}{" "}
            <Show when={open() > 0}>
              <span class="count" aria-label={words.shell.openAsks(open())}>
                {open()}
              </span>
            </Show>
          </a>
          <a href={fragmentOf({ page: "sessions" })} aria-current={place() === "sessions" ? "page" : undefined}>
            {words.shell.sessions}
          </a>
        </nav>
        <ConnectionState />
        <button type="button" class="quiet help-button" aria-label={words.shell.help} onClick={() => setHelping(true)}>
          <Keyboard />
        </button>
        <Account />
      </header>
      <div class="banners">
        <Show when={connection() === "lost"}>
          <p class="stale" role="alert">
            <span class="spinner" aria-hidden="true" />
            {words.shell.lost}
          </p>
        </Show>
        <Show when={isUpdateReady()}>
          <output class="update">
            <span>{words.update.ready}</span>
            <button type="button" class="quiet" onClick={takeUpdate}>
              {words.update.take}
            </button>
          </output>
        </Show>
        <Alarms />
        <Reminders />
      </div>
      <Switch>
        <Match when={place() === "inbox"}>
          <Inbox />
        </Match>
        <Match when={place() === "history"}>
          <History />
        </Match>
        <Match when={place() === "sessions"}>
          <Sessions />
        </Match>
      </Switch>
      <Announcer />
      <HeldAnswers />
      <Show when={isHelping()}>
        <Help close={() => setHelping(false)} />
      </Show>
    </div>
  );
}

function ConnectionState() {
  return (
    <span class={`connection connection-${connection()}`}>
      <span class="dot" aria-hidden="true" /> <span class="connection-word">{words.shell.connection[connection()]}</span>
    </span>
  );
}

/* What surrounds every page: navigation, the state of the connection, alarms, who is here. */
import { createEffect, createMemo, createSignal, For, Show, type Component } from "solid-js";
import { Dynamic } from "solid-js/web";
import iconUrl from "../icon.svg";
import { Alarms } from "../parts/alarms.tsx";
import { Announcer } from "../parts/announcer.tsx";
import { HeldAnswers } from "../parts/held.tsx";
import { Board, Keyboard, Lines, Shield, Stack, Talk, Tray } from "../parts/icons.tsx";
import { Reminders } from "../parts/reminders.tsx";
import { fragmentOf, route, type Route } from "../router.ts";
import { isUpdateReady, takeUpdate } from "../state/app-shell.ts";
import { inColumn } from "../state/jobs.ts";
import { bindKeys } from "../state/keys.ts";
import { openAsks } from "../state/ledger.ts";
import { connection, ledger } from "../state/live.ts";
import { preferences } from "../state/preferences.ts";
import { words } from "../text/words.ts";
import { Access } from "./access.tsx";
import { Account } from "./account.tsx";
import { History } from "./history.tsx";
import { Help } from "./help.tsx";
import { Inbox } from "./inbox.tsx";
import { Jobs } from "./jobs.tsx";
import { Ledger } from "./ledger.tsx";
import { Sessions } from "./sessions.tsx";
import { Workspaces } from "./workspaces.tsx";

/** What each page is shown by. */
const VIEWS: Readonly<Record<Route["page"], Component>> = {
  inbox: Inbox,
  ask: Inbox,
  history: History,
  sessions: Sessions,
  session: Sessions,
  jobs: Jobs,
  job: Jobs,
  workspaces: Workspaces,
  workspace: Workspaces,
  access: Access,
  ledger: Ledger,
};

interface Entry {
  to: Route;
  title: string;
  icon: Component;
  /** How many things wait there for somebody, and how that is said. */
  waiting?: { count: () => number; says: (count: number) => string };
  /** A page that is reached from there and belongs to it. */
  also?: Route["page"];
}

/** The navigation, in order. */
const ENTRIES: readonly Entry[] = [
  { to: { page: "inbox" }, title: words.inbox.title, icon: Tray, waiting: { count: () => openAsks(ledger()).length, says: words.shell.openAsks }, also: "history" },
  { to: { page: "sessions" }, title: words.shell.sessions, icon: Talk },
  { to: { page: "jobs" }, title: words.jobs.title, icon: Board, waiting: { count: () => inColumn(Object.values(ledger().jobs), "waiting").length, says: words.jobs.waiting } },
  { to: { page: "workspaces" }, title: words.workspaces.title, icon: Stack },
  { to: { page: "access", part: "devices" }, title: words.access.title, icon: Shield },
  { to: { page: "ledger", part: "figures" }, title: words.ledger.title, icon: Lines },
];

export function Shell() {
  const [isHelping, setHelping] = createSignal(false);
  bindKeys(() => ({ help: () => setHelping(true) }));
  createEffect(() => {
    const { theme } = preferences();
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  });
  // One view shows several pages, and stays while somebody goes from one to the other.
  const view = createMemo(() => VIEWS[route().page]);
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
          <For each={ENTRIES}>{(entry) => <NavLink entry={entry} />}</For>
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
      <Dynamic component={view()} />
      <Announcer />
      <HeldAnswers />
      <Show when={isHelping()}>
        <Help close={() => setHelping(false)} />
      </Show>
    </div>
  );
}

function NavLink(props: { entry: Entry }) {
  const waiting = createMemo(() => props.entry.waiting?.count() ?? 0);
  const current = () => {
    const { page } = route();
    if (VIEWS[page] === VIEWS[props.entry.to.page]) return "page";
    return page === props.entry.also ? "true" : undefined;
  };
  return (
    <a href={fragmentOf(props.entry.to)} aria-current={current()}>
      <Dynamic component={props.entry.icon} />
      <span class="nav-title">{props.entry.title}</span>{" "}
      <Show when={waiting() > 0}>
        <span class="count" aria-label={props.entry.waiting?.says(waiting())}>
          {waiting()}
        </span>
      </Show>
    </a>
  );
}

function ConnectionState() {
  return (
    <span class={`connection connection-${connection()}`}>
      <span class="dot" aria-hidden="true" /> <span class="connection-word">{words.shell.connection[connection()]}</span>
    </span>
  );
}

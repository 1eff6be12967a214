/*
 * What the page knows of the ledger, and how it learns more. Pure: values in, values out.
 *
 * An ask only ever goes forward, as the ledger says; a reading that is older than what is known changes
 * nothing. There is no way out of the ledger, least of all by time.
 */
import type { AlarmView, AskView, Event, JobView, Phase, SessionView, WorkspaceView } from "../api/types.ts";

export interface Ledger {
  asks: Readonly<Record<string, AskView>>;
  sessions: Readonly<Record<string, SessionView>>;
  jobs: Readonly<Record<string, JobView>>;
  workspaces: readonly WorkspaceView[];
  alarms: readonly AlarmView[];
  /** How often files of each workspace were written since the page was opened. */
  written: Readonly<Record<string, number>>;
}

export const EMPTY: Ledger = { asks: {}, sessions: {}, jobs: {}, workspaces: [], alarms: [], written: {} };

/** What an event makes it necessary to read. */
export type Reading =
  | { of: "ask"; id: string }
  | { of: "session"; id: string }
  | { of: "job"; id: string }
  | { of: "items"; session: string; from: number }
  | { of: "settings"; session: string }
  | { of: "workspaces" }
  | { of: "alarms" };

/** The ledger after `event`, as far as the event itself tells, and what has to be read to know the rest. */
export function announce(ledger: Ledger, event: Event): { ledger: Ledger; readings: Reading[] } {
  switch (event.type) {
    case "ask.opened":
      return { ledger, readings: [{ of: "ask", id: event.ask }, ...unknownSession(ledger, event.session)] };
    case "ask.changed": {
      const known = ledger.asks[event.ask];
      const next =
        known !== undefined && isForward(known.state, event.state)
          ? withAsk(ledger, { ...known, state: event.state, may_answer: false })
          : ledger;
      if (known?.door === "workspace" && event.state === "delivered") {
        return { ledger: withWrite(next, known.workspace), readings: [{ of: "ask", id: event.ask }] };
      }
      return { ledger: next, readings: [{ of: "ask", id: event.ask }] };
    }
    case "session.changed": {
      const known = ledger.sessions[event.session];
      const next = known === undefined ? ledger : withSession(ledger, { ...known, activity: event.activity });
      return { ledger: next, readings: [{ of: "session", id: event.session }] };
    }
    case "settings.changed":
      return { ledger, readings: [{ of: "settings", session: event.session }] };
    case "turn.changed":
      return { ledger, readings: [{ of: "session", id: event.session }] };
    case "item.changed":
      return { ledger, readings: [{ of: "items", session: event.session, from: event.item }] };
    case "engine.changed":
      return {
        ledger: {
          ...ledger,
          workspaces: ledger.workspaces.map((workspace) =>
            workspace.id === event.workspace
              ? { ...workspace, engine: { ...workspace.engine, state: event.state, message: event.message } }
              : workspace,
          ),
        },
        readings: [{ of: "workspaces" }],
      };
    case "job.changed":
      return { ledger, readings: [{ of: "job", id: event.job }] };
    case "workspace.changed":
      return {
        ledger: event.change === "written" ? withWrite(ledger, event.workspace) : ledger,
        readings: event.change === "written" ? [] : [{ of: "workspaces" }],
      };
    case "alarm.raised":
      return { ledger, readings: [{ of: "alarms" }] };
    case "rule.changed":
      return { ledger, readings: [] };
    default:
      // A newer server may tell of things that this page does not know.
      return { ledger, readings: [] };
  }
}

/** The ledger after files of a workspace were written. */
export function withWrite(ledger: Ledger, workspace: string): Ledger {
  return { ...ledger, written: { ...ledger.written, [workspace]: (ledger.written[workspace] ?? 0) + 1 } };
}

/** The ledger with an ask as it was read; an older reading than the one known changes nothing. */
export function withAsk(ledger: Ledger, read: AskView): Ledger {
  return withAsks(ledger, [read]);
}

export function withAsks(ledger: Ledger, read: readonly AskView[]): Ledger {
  const newer = read.filter((ask) => {
    const known = ledger.asks[ask.id];
    return known === undefined || !isForward(ask.state, known.state);
  });
  if (newer.length === 0) return ledger;
  const entries = newer.map((ask) => [ask.id, sameSubject(ledger.asks[ask.id], ask)]);
  return { ...ledger, asks: { ...ledger.asks, ...Object.fromEntries(entries) } };
}

export function withSession(ledger: Ledger, session: SessionView): Ledger {
  return { ...ledger, sessions: { ...ledger.sessions, [session.id]: session } };
}

export function withSessions(ledger: Ledger, sessions: readonly SessionView[]): Ledger {
  return { ...ledger, sessions: Object.fromEntries(sessions.map((session) => [session.id, session])) };
}

export function withJobs(ledger: Ledger, read: readonly JobView[]): Ledger {
  const entries = read.map((job) => [job.id, wholeJob(ledger.jobs[job.id], job)]);
  return { ...ledger, jobs: { ...ledger.jobs, ...Object.fromEntries(entries) } };
}

/** A job of a list lacks what is long: what is known of it stays as long as nothing has changed. */
function wholeJob(known: JobView | undefined, read: JobView): JobView {
  if (known?.result === undefined || read.result !== undefined || known.changed_at !== read.changed_at) return read;
  return { ...read, result: known.result, prompt: known.prompt, ...(known.changed_files === undefined ? {} : { changed_files: known.changed_files }) };
}

/** The asks that nobody has answered, the one that waits longest first, so that a new one moves none. */
export function openAsks(ledger: Ledger): AskView[] {
  return Object.values(ledger.asks).filter((ask) => ask.state === "open").toSorted(byAge);
}

/** The asks that are answered or over, the newest first. */
export function settledAsks(ledger: Ledger): AskView[] {
  return Object.values(ledger.asks).filter((ask) => ask.state !== "open").toSorted((a, b) => byAge(b, a));
}

/** The sessions in which somebody talks with an agent, the one that changed last first. */
export function talkingSessions(ledger: Ledger): SessionView[] {
  return Object.values(ledger.sessions)
    .filter((session) => session.engine !== WORKSPACE_WRITES)
    .toSorted((a, b) => b.changed_at.localeCompare(a.changed_at));
}

/** What stands for the engine where nobody talks: such a session holds the writes of one proposer together. */
const WORKSPACE_WRITES = "workspace writes";

/** The other open asks of an ask's session: those that fall when it is denied. Writes stand each by itself. */
export function siblingsOf(ledger: Ledger, ask: AskView): string[] {
  if (ask.door === "workspace") return [];
  const open = openAsks(ledger).filter((other) => other.session === ask.session && other.id !== ask.id);
  const unknown = ask.siblings.filter((sibling) => ledger.asks[sibling] === undefined);
  return [...open.map((other) => other.id), ...unknown];
}

const ORDER: Readonly<Record<Phase, number>> = {
  open: 0,
  answered: 1,
  delivered: 2,
  undeliverable: 2,
  expired: 2,
  withdrawn: 2,
};

function isForward(from: Phase, to: Phase): boolean {
  return ORDER[from] < ORDER[to];
}

/** What is asked never changes; the same value lets a form that somebody is filling in stay as it is. */
function sameSubject(known: AskView | undefined, read: AskView): AskView {
  return known !== undefined && known.digest === read.digest ? { ...read, subject: known.subject, raw: known.raw } : read;
}

/** The one that was asked first comes first. */
export function byAge(a: AskView, b: AskView): number {
  // Ids sort by the time of their making.
  if (a.opened_at !== b.opened_at) return a.opened_at < b.opened_at ? -1 : 1;
  return a.id < b.id ? -1 : Number(a.id > b.id);
}

function unknownSession(ledger: Ledger, session: string): Reading[] {
  return ledger.sessions[session] === undefined ? [{ of: "session", id: session }] : [];
}

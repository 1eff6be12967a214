/*
 * Keeps what the page shows in step with the ledger: one event stream, and readings of what it names.
 *
 * The stream stands before anything is read, so nothing can happen unnoticed in between.
 */
import { batch, createSignal } from "solid-js";
import * as api from "../api/client.ts";
import { followEvents } from "../api/events.ts";
import type { AskView, Delta, Event, JobView, SessionView, SettingsView } from "../api/types.ts";
import { lookForUpdate } from "./app-shell.ts";
import { isOver, jobsOf } from "./jobs.ts";
import { announce, EMPTY, openAsks, withAsk, withAsks, withJobs, withSession, withSessions, withWrite, type Ledger, type Reading } from "./ledger.ts";
import { Pace } from "./pace.ts";
import { closeNotification } from "./pushing.ts";
import { Reader } from "./reader.ts";
import { sameParts } from "./settings.ts";
import { joined, newest, placeOf, SILENT, withDelta, withItems, type Transcript } from "./transcript.ts";

/** How many of the asks that are over are shown. */
const RECENT = 30;
const PAGE = 500;
/** How many jobs are listed at first. */
const JOBS = 100;

export type Connection = "connecting" | "live" | "lost";

const [ledger, setLedger] = createSignal<Ledger>(EMPTY);
const [connection, setConnection] = createSignal<Connection>("connecting");
const [isLoaded, setLoaded] = createSignal(false);
const [newestAsk, setNewestAsk] = createSignal<AskView>();
const [transcripts, setTranscripts] = createSignal<Readonly<Record<string, Transcript>>>({});
const [settings, setSettings] = createSignal<Readonly<Record<string, SettingsView>>>({});
const [ruleChanges, setRuleChanges] = createSignal(0);
const [olderJobs, setOlderJobs] = createSignal<string>();
const [missing, setMissing] = createSignal<ReadonlySet<string>>(new Set());

export {
  connection,
  /** Whether everything was read once. */
  isLoaded,
  ledger,
  /** The ask that came in last while the page was open. */
  newestAsk,
  /** How often rules were made or changed while the page was open. */
  ruleChanges,
  /** From where on there are older jobs than those that are known; nothing if there are none. */
  olderJobs,
};

/** Whether the server was asked for an ask or a session and knows none by that id. */
export const isMissing = (id: string): boolean => missing().has(id);

/** What was said in a session; nothing until it is followed. */
export const transcriptOf = (session: string): Transcript | undefined => transcripts()[session];

/** What is set for a session and what could be; nothing until it is followed. */
export const settingsOf = (session: string): SettingsView | undefined => settings()[session];

/** How many items of a session are held at first, and how many more whenever somebody reads back. */
const HELD = 1_000;
/** How many items the server sends at once. */
const SENT_AT_ONCE = 5_000;
/** How many items are held of sessions in which somebody read back. */
const readBack = new Map<string, number>();
const heldOf = (session: string): number => readBack.get(session) ?? HELD;

/** Reads what was said before what is known of a session. */
export function wantEarlier(session: string): void {
  const first = transcripts()[session]?.items[0]?.seq ?? 1;
  if (first <= 1) return;
  want(`before ${first} of ${session}`, async () => {
    const items = await api.readItems(session, Math.max(0, first - 1 - HELD), HELD);
    const known = transcripts()[session] ?? SILENT;
    const earlier = items.filter((item) => item.seq < first);
    readBack.set(session, known.items.length + earlier.length + HELD);
    setTranscripts({ ...transcripts(), [session]: { ...known, items: [...earlier, ...known.items] } });
  });
}

/** The lowest place from which each followed session's items have to be read. */
const unread = new Map<string, number>();
let reader: Reader | undefined;

/** Starts; `signedOut` is called when the server does not know this browser any more. Returns how to stop. */
export function startLive(signedOut: (sentence: string) => void): () => void {
  const stop = new AbortController();
  reader = new Reader(stop.signal);
  const told = new Pace<Told>((all) => stop.signal.aborted || batch(() => takeAll(all)));
  void followEvents(
    {
      connected: () => {
        if (connection() === "lost") void lookForUpdate();
        setConnection("live");
      },
      lost: () => setConnection("lost"),
      reset: readEverything,
      event: (event) => told.add({ event }),
      delta: (delta) => told.add({ delta }),
      refused: (error) => signedOut(error.message),
    },
    stop.signal,
  );
  return () => {
    stop.abort();
    reader = undefined;
    unread.clear();
    readBack.clear();
    setLedger(EMPTY);
    setTranscripts({});
    setSettings({});
    setLoaded(false);
    setConnection("connecting");
  };
}

/** Takes in an ask as an answer's response carries it. */
export function learnAsk(ask: AskView): void {
  setLedger(withAsk(ledger(), ask));
}

/** Takes in asks as a list carries them. */
export function learnAsks(asks: readonly AskView[]): void {
  setLedger(withAsks(ledger(), asks));
  for (const ask of asks) wantSession(ask.session);
}

/** Takes in a session as a response carries it. */
export function learnSession(session: SessionView): void {
  setLedger(withSession(ledger(), session));
}

/** Takes in a job as a response carries it. */
export function learnJob(job: JobView): void {
  setLedger(withJobs(ledger(), [job]));
}

/** Takes in jobs as a list carries them. */
export function learnJobs(jobs: readonly JobView[]): void {
  setLedger(withJobs(ledger(), jobs));
}

/** Reads the next older jobs. */
export async function wantOlderJobs(): Promise<void> {
  const before = olderJobs();
  if (before === undefined) return;
  const page = await api.readJobs({ limit: JOBS, before });
  learnJobs(page.jobs);
  setOlderJobs(page.next);
}

/** Reads a job anew, with what is long. */
export function wantJob(id: string): void {
  perform({ of: "job", id });
}

/** Takes in what is set for a session as a response carries it. */
export function learnSettings(view: SettingsView): void {
  setSettings({ ...settings(), [view.session]: sameParts(settings()[view.session], view) });
}

/** Reads anew which workspaces there are. */
export function learnWorkspaces(): void {
  perform({ of: "workspaces" });
}

/** Notes that files of a workspace were written from here. */
export function noteWrite(workspace: string): void {
  setLedger(withWrite(ledger(), workspace));
}

/** Reads an ask that is not known yet. */
export function wantAsk(id: string): void {
  if (ledger().asks[id] === undefined) perform({ of: "ask", id });
}

/** Reads a session that is not known yet. */
export function wantSession(id: string): void {
  if (ledger().sessions[id] === undefined) perform({ of: "session", id });
}

/** Reads what was said in a session, and keeps up with it from now on. */
export function followSession(session: string): void {
  if (transcripts()[session] !== undefined) return;
  setTranscripts({ ...transcripts(), [session]: SILENT });
  wantItems(session, 0);
  perform({ of: "settings", session });
}

/** One thing that the stream told. */
type Told = { event: Event } | { delta: Delta };

function takeAll(all: readonly Told[]): void {
  let words: Delta[] = [];
  for (const one of all) {
    if ("delta" in one) {
      words.push(one.delta);
      continue;
    }
    for (const delta of joined(words)) hear(delta);
    words = [];
    take(one.event);
  }
  for (const delta of joined(words)) hear(delta);
}

function hear(delta: Delta): void {
  const transcript = transcripts()[delta.session];
  if (transcript === undefined) return;
  const more = withDelta(transcript, delta);
  if (more === undefined) wantItems(delta.session, placeOf(transcript, delta.item));
  else setTranscripts({ ...transcripts(), [delta.session]: more });
}

function take(event: Event): void {
  if (event.type === "ask.changed") void closeNotification(event.ask);
  const told = announce(ledger(), event);
  setLedger(told.ledger);
  if (event.type === "rule.changed") setRuleChanges(ruleChanges() + 1);
  for (const reading of told.readings) perform(reading);
  if ("session" in event && event.session !== undefined) noticeWork(event.session);
}

/** What a job does is told by what happens in its session; it is read again a moment later, however much happens. */
const PAUSE_MS = 400;
const noticed = new Set<string>();

function noticeWork(session: string): void {
  for (const job of jobsOf(ledger().jobs, session)) {
    if (isOver(job) || noticed.has(job.id)) continue;
    noticed.add(job.id);
    setTimeout(() => {
      noticed.delete(job.id);
      perform({ of: "job", id: job.id });
    }, PAUSE_MS);
  }
}

function perform(reading: Reading): void {
  switch (reading.of) {
    case "ask":
      return want(reading.id, async () => {
        const ask = await read(reading.id, api.readAsk);
        const isNew = ledger().asks[ask.id] === undefined;
        learnAsk(ask);
        if (isNew && ask.state === "open" && isLoaded()) setNewestAsk(ask);
        wantSession(ask.session);
      });
    case "session":
      return want(reading.id, async () => learnSession(await read(reading.id, api.readSession)));
    case "job":
      return want(reading.id, async () => learnJob(await read(reading.id, api.readJob)));
    case "items":
      if (transcripts()[reading.session] !== undefined) wantItems(reading.session, reading.from);
      return;
    case "settings":
      if (transcripts()[reading.session] === undefined) return;
      return want(`settings of ${reading.session}`, async () => learnSettings(await api.readSettings(reading.session)));
    case "workspaces":
      return want("workspaces", async () => {
        const workspaces = await api.readWorkspaces();
        setLedger({ ...ledger(), workspaces });
      });
    case "alarms":
      return want("alarms", async () => {
        const alarms = await api.readAlarms();
        setLedger({ ...ledger(), alarms });
      });
  }
}

function want(key: string, reading: () => Promise<void>): void {
  reader?.want(key, reading);
}

async function read<T>(id: string, reading: (id: string) => Promise<T>): Promise<T> {
  try {
    return await reading(id);
  } catch (error) {
    if (error instanceof api.ApiError && (error.status === 404 || error.status === 400)) {
      setMissing(new Set([...missing(), id]));
    }
    throw error;
  }
}

function wantItems(session: string, from: number): void {
  unread.set(session, Math.min(from, unread.get(session) ?? from));
  want(`items of ${session}`, async () => {
    const first = unread.get(session) ?? 0;
    unread.delete(session);
    try {
      const held = heldOf(session);
      const known = transcripts()[session] ?? SILENT;
      // Of one that is not known yet the newest are read, and so they are if more came than are held.
      const isFresh = first === 0;
      const items = isFresh ? await api.readLastItems(session, Math.min(held, SENT_AT_ONCE)) : await api.readItems(session, first - 1);
      const more = withItems(isFresh ? { ...known, items: [] } : (transcripts()[session] ?? known), items, first);
      setTranscripts({ ...transcripts(), [session]: newest(more, held) });
      // What was asked for is more than is sent at once.
      if (!isFresh && items.length >= SENT_AT_ONCE) wantItems(session, (items.at(-1)?.seq ?? 0) + 1);
    } catch (error) {
      unread.set(session, Math.min(first, unread.get(session) ?? first));
      throw error;
    }
  });
}

function readEverything(): void {
  want("everything", async () => {
    const [workspaces, open, recent, sessions, alarms, jobs] = await Promise.all([
      api.readWorkspaces(),
      readOpenAsks(),
      api.readAsks({ limit: RECENT }),
      api.readSessions(),
      api.readAlarms(),
      api.readJobs({ limit: JOBS }),
    ]);
    const known = ledger();
    const withAll = withSessions(withAsks({ ...known, workspaces, alarms }, [...open, ...recent.asks]), sessions);
    setLedger(withJobs(withAll, jobs.jobs));
    setOlderJobs(jobs.next);
    // What was open and is not any more has ended while nobody listened; how, it says itself.
    const stillOpen = new Set(open.map((ask) => ask.id));
    for (const ask of openAsks(known)) if (!stillOpen.has(ask.id)) perform({ of: "ask", id: ask.id });
    for (const ask of open) wantSession(ask.session);
    const listed = new Set(jobs.jobs.map((job) => job.id));
    for (const job of Object.values(known.jobs)) if (!isOver(job) && !listed.has(job.id)) perform({ of: "job", id: job.id });
    for (const session of Object.keys(transcripts())) {
      wantItems(session, 0);
      perform({ of: "settings", session });
    }
    setLoaded(true);
  });
}

async function readOpenAsks(): Promise<AskView[]> {
  const asks: AskView[] = [];
  let before: string | undefined;
  do {
    const page = await api.readAsks({ state: "open", limit: PAGE, ...(before === undefined ? {} : { before }) });
    asks.push(...page.asks);
    before = page.next;
  } while (before !== undefined);
  return asks;
}

import { expect, test, vi } from "vitest";
import type { AskView, Event, EventBody } from "../api/types.ts";
import { announce, EMPTY, openAsks, settledAsks, siblingsOf, withAsk, withAsks, withSession, withSessions, talkingSessions, type Ledger } from "./ledger.ts";
import { ADA, sampleAsk, sampleSession, sampleWrite } from "./samples.ts";

let seq = 0;
function event(body: EventBody): Event {
  seq += 1;
  return { seq, at: "2026-11-15T18:44:00.000000Z", workspace: "ws_1", ...body };
}

const answered: AskView = sampleAsk({
  state: "answered",
  may_answer: false,
  answer: { answer: "allow_once", by: ADA, surface: "web", at: "2026-11-15T18:44:00.000000Z" },
  delivery: { state: "pending", attempts: 0 },
});
const delivered: AskView = {
  ...answered,
  state: "delivered",
  delivery: {
    state: "delivered",
    attempts: 1,
    at: "2026-11-15T18:44:01.000000Z",
    evidence: { kind: "announced", event: "permission.replied" },
  },
};

test("a change of settings has them read, and nothing else", () => {
  const told = announce(EMPTY, event({ type: "settings.changed", session: "session_1" }));
  expect(told).toEqual({ ledger: EMPTY, readings: [{ of: "settings", session: "session_1" }] });
});

test("what is written in a workspace is counted, whoever wrote it; what else becomes of one is read", () => {
  const written = announce(EMPTY, event({ type: "workspace.changed", change: "written" }));
  expect(written).toEqual({ ledger: { ...EMPTY, written: { ws_1: 1 } }, readings: [] });
  const removed = announce(EMPTY, event({ type: "workspace.changed", change: "removed" }));
  expect(removed).toEqual({ ledger: EMPTY, readings: [{ of: "workspaces" }] });
  const write = sampleWrite();
  const changed = (state: AskView["state"]) => event({ type: "ask.changed", ask: write.id, session: write.session, state });
  const known = withAsk(EMPTY, write);
  expect(announce(known, changed("answered")).ledger.written).toEqual({});
  expect(announce(known, changed("delivered")).ledger.written).toEqual({ [write.workspace]: 1 });
});

test("an ask is opened, answered and delivered as the ledger says", () => {
  const opened = announce(EMPTY, event({ type: "ask.opened", ask: "ask_1", session: "session_1", tool: "bash" }));
  expect(opened.readings).toEqual([
    { of: "ask", id: "ask_1" },
    { of: "session", id: "session_1" },
  ]);

  let ledger = withAsk(opened.ledger, sampleAsk());
  expect(openAsks(ledger).map((ask) => ask.id)).toEqual(["ask_1"]);

  const changed = announce(ledger, event({ type: "ask.changed", ask: "ask_1", session: "session_1", state: "answered" }));
  expect(changed.readings).toEqual([{ of: "ask", id: "ask_1" }]);
  expect(changed.ledger.asks["ask_1"]).toMatchObject({ state: "answered", may_answer: false });

  ledger = withAsk(withAsk(changed.ledger, answered), delivered);
  expect(openAsks(ledger)).toEqual([]);
  expect(settledAsks(ledger)).toEqual([delivered]);
});

test("no lapse of time takes an ask away, not even a past expiry", () => {
  vi.useFakeTimers();
  try {
    const ledger = withAsk(EMPTY, sampleAsk({ expires_at: "2026-11-15T18:43:58.000000Z" }));
    vi.setSystemTime(new Date("2036-01-01"));
    vi.runAllTimers();
    expect(openAsks(ledger)).toHaveLength(1);
    const later = announce(ledger, event({ type: "session.changed", session: "session_1", activity: "gone" }));
    expect(openAsks(later.ledger)).toHaveLength(1);
  } finally {
    vi.useRealTimers();
  }
});

test("a reading that comes late does not open an ask again", () => {
  const ledger = withAsk(EMPTY, delivered);
  expect(withAsk(ledger, sampleAsk())).toBe(ledger);
  expect(withAsk(ledger, answered)).toBe(ledger);
  const told = announce(ledger, event({ type: "ask.changed", ask: "ask_1", session: "session_1", state: "answered" }));
  expect(told.ledger).toBe(ledger);
});

test("what is asked stays the very same value when it is read again", () => {
  const first = sampleAsk();
  const ledger = withAsk(withAsk(EMPTY, first), { ...structuredClone(first), siblings: ["ask_2"] });
  expect(ledger.asks["ask_1"]?.subject).toBe(first.subject);
  expect(ledger.asks["ask_1"]?.siblings).toEqual(["ask_2"]);
});

test("the ask that waits longest comes first, and a new one moves none", () => {
  const older = sampleAsk({ id: "ask_0", opened_at: "2026-11-15T18:40:00.000000Z" });
  const newer = sampleAsk({ id: "ask_9", opened_at: "2026-11-15T18:50:00.000000Z" });
  const ledger = withAsks(EMPTY, [newer, sampleAsk(), older]);
  expect(openAsks(ledger).map((ask) => ask.id)).toEqual(["ask_0", "ask_1", "ask_9"]);
});

test("siblings are the open asks of the same session, known or only named", () => {
  const ledger = withAsks(EMPTY, [
    sampleAsk({ siblings: ["ask_2", "ask_3", "ask_unknown"] }),
    sampleAsk({ id: "ask_2" }),
    sampleAsk({ id: "ask_3", state: "withdrawn" }),
    sampleAsk({ id: "ask_4" }),
    sampleAsk({ id: "ask_5", session: "session_2" }),
  ]);
  expect(siblingsOf(ledger, ledger.asks["ask_1"] as AskView)).toEqual(["ask_2", "ask_4", "ask_unknown"]);
});

test("what an engine and a session do is seen at once", () => {
  const start: Ledger = {
    ...withSession(EMPTY, sampleSession()),
    workspaces: [
      {
        id: "ws_1",
        name: "project",
        path: "/p",
        added_at: "2026-11-15T18:43:00.000000Z",
        engine: { program: "opencode", state: "ready", message: "", consent: "relay" },
      },
    ],
  };
  const busy = announce(start, event({ type: "session.changed", session: "session_1", activity: "busy" }));
  expect(busy.ledger.sessions["session_1"]?.activity).toBe("busy");
  const gone = announce(start, event({ type: "engine.changed", state: "gone", message: "it ended" }));
  expect(gone.ledger.workspaces[0]?.engine).toMatchObject({ state: "gone", message: "it ended" });
  expect(gone.readings).toEqual([{ of: "workspaces" }]);
});

test("an event of a kind that is not known yet changes nothing", () => {
  const told = announce(EMPTY, { ...event({ type: "rule.changed", rule: "rule_1" }), type: "moon.rose" } as unknown as Event);
  expect(told).toEqual({ ledger: EMPTY, readings: [] });
});

test("writes of one proposer do not fall together, and what holds them together is no session to read", () => {
  const [first, second] = [sampleWrite(), { ...sampleWrite(), id: "ask_2" }];
  const talk = sampleSession();
  const holder = sampleSession({ id: "session_2", engine: "workspace writes" });
  const ledger = withSessions(withAsks(EMPTY, [first, second]), [talk, holder]);
  expect(siblingsOf(ledger, first)).toEqual([]);
  expect(talkingSessions(ledger)).toEqual([talk]);
});

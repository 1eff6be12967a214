import { expect, test } from "vitest";
import { EVERYTHING, isEverything, offersOf, passes } from "./filtering.ts";
import { EMPTY, withSessions, type Ledger } from "./ledger.ts";
import { sampleAsk, sampleSession, sampleWrite } from "./samples.ts";

const ledger: Ledger = withSessions(EMPTY, [
  sampleSession({ id: "session_1", title: "Tidy up", engine: "opencode" }),
  sampleSession({ id: "session_2", title: "Plant beans", engine: "demo" }),
]);
const status = sampleAsk({ id: "ask_1" });
const edit = sampleAsk({
  id: "ask_2",
  session: "session_2",
  workspace: "ws_2",
  summary: "beds/beans.txt",
  subject: { kind: "permission", tool: "edit", targets: ["beds/beans.txt"], shown: [] },
});
const write = { ...sampleWrite(), id: "ask_3" };
const all = [status, edit, write];
const found = (filter: Parameters<typeof passes>[1]) => all.filter((ask) => passes(ask, filter, ledger)).map((ask) => ask.id);

test("nothing chosen is everything", () => {
  expect(isEverything(EVERYTHING)).toBe(true);
  expect(found({ search: "  " })).toHaveLength(3);
});

test("what is chosen has to fit all together", () => {
  expect(found({ search: "", tool: "edit" })).toEqual(["ask_2"]);
  expect(found({ search: "", workspace: "ws_1", engine: "opencode" })).toEqual(["ask_1", "ask_3"]);
  expect(found({ search: "", workspace: "ws_1", session: "session_2" })).toEqual([]);
});

test("every word has to be somewhere: in the command, the session, the tool", () => {
  expect(found({ search: "GIT" })).toEqual(["ask_1"]);
  expect(found({ search: "plant edit" })).toEqual(["ask_2"]);
  expect(found({ search: "plant git" })).toEqual([]);
});

test("what can be chosen is what is there, with how often", () => {
  expect(offersOf(all, "tool", ledger).map(({ name, count }) => [name, count])).toEqual([
    ["bash", 1],
    ["edit", 1],
    ["plugins.add", 1],
  ]);
  expect(offersOf(all, "session", ledger).map(({ name }) => name)).toEqual(["Plant beans", "Tidy up"]);
});

import { expect, test } from "vitest";
import type { Delta, TranscriptItem } from "../api/types.ts";
import { joined, newest, placeOf, SILENT, withDelta, withItems, type Transcript } from "./transcript.ts";

const delta = (offset: number, text: string, item = "part_1"): Delta => ({
  workspace: "ws_1",
  session: "session_1",
  item,
  thought: false,
  offset,
  text,
});

/** The transcript with words that follow on what is known. */
function heard(transcript: Transcript, ...deltas: Delta[]): Transcript {
  for (const each of deltas) {
    const more = withDelta(transcript, each);
    if (more === undefined) throw new Error("words are missing");
    transcript = more;
  }
  return transcript;
}

const text = (seq: number, words: string, native_id = `part_${seq}`): TranscriptItem => ({
  seq,
  native_id,
  at: "2026-11-15T18:43:00.000000Z",
  kind: "text",
  text: words,
});

const tool = (status: "running" | "completed"): TranscriptItem => ({
  seq: 2,
  native_id: "part_2",
  at: "2026-11-15T18:43:00.000000Z",
  kind: "tool",
  tool: "bash",
  status,
  input: {},
  output: "",
});

test("words are added as they are said, and written down in their place", () => {
  let transcript = heard(SILENT, delta(0, "Hel"), delta(3, "lo"));
  expect(transcript.live).toEqual({ part_1: { thought: false, text: "Hello", points: 5 } });

  transcript = withItems(transcript, [text(1, "Hello.")], 1);
  expect(transcript).toEqual({ items: [text(1, "Hello.")], live: {} });
});

test("what was heard of an unfinished item is not unsaid by an older reading of it", () => {
  let transcript = withItems(SILENT, [text(1, "Done."), text(2, "Now ")], 1);
  transcript = heard(transcript, delta(4, "the next", "part_2"));
  expect(transcript.items[1]).toEqual(text(2, "Now the next"));

  transcript = withItems(transcript, [text(1, "Done!"), text(2, "Now the")], 1);
  expect(transcript.items).toEqual([text(1, "Done!"), text(2, "Now the next")]);
});

test("what is written down stands, though it is shorter than what was heard", () => {
  const transcript = heard(withItems(SILENT, [text(1, "Hello")], 0), delta(5, ", world"));
  expect(withItems(transcript, [text(1, "Hello")], 1).items).toEqual([text(1, "Hello")]);
});

test("a tool call that changes takes the place it has", () => {
  const running = withItems(SILENT, [text(1, "a"), tool("running"), text(3, "c")], 0);
  expect(withItems(running, [tool("completed"), text(3, "c")], 2).items).toEqual([text(1, "a"), tool("completed"), text(3, "c")]);
});

test("words that were read already are not heard twice", () => {
  const read = withItems(SILENT, [text(1, "Grüße, 🌱 and")], 1);
  const late = heard(read, delta(0, "Grüße, "), delta(7, "🌱 and more"));
  expect(late.items).toEqual([text(1, "Grüße, 🌱 and more")]);
});

test("words after a gap are not put where they do not belong", () => {
  const transcript = withItems(SILENT, [text(1, "a"), text(2, "One ")], 1);
  expect(withDelta(transcript, delta(9, "three", "part_2"))).toBeUndefined();
  expect(placeOf(transcript, "part_2")).toBe(2);
  expect(withDelta(transcript, delta(3, "three", "part_9"))).toBeUndefined();
  expect(placeOf(transcript, "part_9")).toBe(3);
});

test("a piece that gets another place than it was first read at is shown once", () => {
  const early = withItems(SILENT, [text(1, "a"), text(2, "Being said", "part_9")], 1);
  const items = [tool("running"), text(3, "Being said.", "part_9")];
  expect(withItems(early, items, 2).items).toEqual([text(1, "a"), ...items]);
});

test("words that go on where others ended are one, whatever letters they have", () => {
  const smiles = "😀".repeat(3);
  expect(joined([delta(0, "a"), delta(1, smiles), delta(4, "b"), delta(0, "x", "part_2"), delta(5, "c"), delta(9, "z")])).toEqual([
    delta(0, `a${smiles}b`),
    delta(0, "x", "part_2"),
    delta(5, "c"),
    delta(9, "z"),
  ]);
  expect(heard(SILENT, delta(0, smiles), delta(3, "!"), delta(2, "😀!?")).live["part_1"]?.text).toBe(`${smiles}!?`);
});

test("ten thousand pieces of one text are taken in without counting it anew each time", () => {
  let transcript = SILENT;
  const began = performance.now();
  for (let at = 0; at < 10_000; at += 1) transcript = heard(transcript, delta(at * 100, "x".repeat(100)));
  expect(transcript.live["part_1"]?.text.length).toBe(1_000_000);
  // Counting a million letters ten thousand times takes minutes on any machine.
  expect(performance.now() - began).toBeLessThan(20_000);
});

test("of a long transcript the newest are held", () => {
  const items = Array.from({ length: 50 }, (_, at) => text(at + 1, "a"));
  expect(newest({ items, live: {} }, 10).items.map((item) => item.seq)).toEqual([41, 42, 43, 44, 45, 46, 47, 48, 49, 50]);
  expect(newest({ items, live: {} }, 50).items).toBe(items);
});

test("items that come after all others are added as they are, and one that moved is not there twice", () => {
  const known: Transcript = { items: [text(1, "a"), text(2, "b")], live: {} };
  expect(withItems(known, [text(3, "c"), text(4, "d")], 3).items.map((item) => item.seq)).toEqual([1, 2, 3, 4]);
  expect(withItems(known, [text(3, "b, moved", "part_2")], 3).items.map((item) => item.seq)).toEqual([1, 3]);
});

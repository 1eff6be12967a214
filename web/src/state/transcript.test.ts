import { expect, test } from "vitest";
import type { Delta, TranscriptItem } from "../api/types.ts";
import { SILENT, withDelta, withItems } from "./transcript.ts";

const delta = (text: string, item = "part_1"): Delta => ({
  workspace: "ws_1",
  session: "session_1",
  item,
  thought: false,
  text,
});
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
  let transcript = withDelta(withDelta(SILENT, delta("Hel")), delta("lo"));
  expect(transcript.live).toEqual({ part_1: { thought: false, text: "Hello" } });

  transcript = withItems(transcript, [text(1, "Hello.")], 1);
  expect(transcript).toEqual({ items: [text(1, "Hello.")], live: {} });
});

test("what was heard of an unfinished item is not unsaid by an older reading of it", () => {
  let transcript = withItems(SILENT, [text(1, "Done."), text(2, "Now ")], 1);
  transcript = withDelta(transcript, delta("the next", "part_2"));
  expect(transcript.items[1]).toEqual(text(2, "Now the next"));

  transcript = withItems(transcript, [text(1, "Done!"), text(2, "Now the")], 1);
  expect(transcript.items).toEqual([text(1, "Done!"), text(2, "Now the next")]);
});

test("what is written down stands, though it is shorter than what was heard", () => {
  const transcript = withDelta(withItems(SILENT, [text(1, "Hello")], 0), delta(", world"));
  expect(withItems(transcript, [text(1, "Hello")], 1).items).toEqual([text(1, "Hello")]);
});

test("a tool call that changes takes the place it has", () => {
  const running = withItems(SILENT, [text(1, "a"), tool("running"), text(3, "c")], 0);
  expect(withItems(running, [tool("completed"), text(3, "c")], 2).items).toEqual([text(1, "a"), tool("completed"), text(3, "c")]);
});

import { expect, test } from "vitest";
import type { TranscriptItem } from "../api/types.ts";
import { lastWordsOf } from "./last-words.ts";

const spoken = (seq: number, kind: "prompt" | "text" | "thought", text: string): TranscriptItem => ({
  seq,
  at: `2026-11-15T18:00:0${seq}.000000Z`,
  native_id: `n${seq}`,
  kind,
  text,
});
const items = [
  spoken(1, "prompt", "Plant"),
  spoken(2, "text", "Beans first."),
  spoken(3, "thought", "Hm."),
  spoken(4, "text", "Then peas."),
  spoken(5, "prompt", "Stop"),
];

test("the agent's last words before the ask, and what it was told", () => {
  const found = lastWordsOf(items, "2026-11-15T18:00:04.500000Z");
  expect([found.prompt?.text, found.agent?.text]).toEqual(["Plant", "Then peas."]);
});

test("words of an earlier turn are none of this one", () => {
  const found = lastWordsOf(items, "2026-11-15T18:00:09.000000Z");
  expect([found.prompt?.text, found.agent?.text]).toEqual(["Stop", undefined]);
});

test("nothing said is nothing", () => {
  expect(lastWordsOf([], "2026-11-15T18:00:09.000000Z")).toEqual({});
});

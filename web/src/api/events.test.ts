import { expect, test } from "vitest";
import { Place, type Listener } from "./events.ts";
import type { Frame } from "./sse.ts";

function place(): { told: string[]; take: (...frames: Frame[]) => void; seq: () => number | undefined } {
  const told: string[] = [];
  const listener: Listener = {
    connected: () => told.push("connected"),
    reset: () => told.push("reset"),
    event: (event) => told.push(`${event.seq} ${event.type}`),
    delta: (delta) => told.push(`delta ${delta.text}`),
    lost: () => told.push("lost"),
    refused: () => told.push("refused"),
  };
  const at = new Place(listener);
  return { told, take: (...frames) => frames.forEach((frame) => at.take(frame)), seq: () => at.seq };
}

const hello = (seq: number): Frame => ({ event: "hello", data: JSON.stringify({ seq }) });
const event = (seq: number): Frame => ({
  event: "rule.changed",
  data: JSON.stringify({ seq, type: "rule.changed", rule: "rule_1" }),
});

test("the first hello gives the place; a later one does not skip what is still to come", () => {
  const { told, take, seq } = place();
  take(hello(7), event(8), hello(12), event(9), event(10));
  expect(told).toEqual(["reset", "8 rule.changed", "9 rule.changed", "10 rule.changed"]);
  expect(seq()).toBe(10);
});

test("an event that comes again is told once", () => {
  const { told, take } = place();
  take(hello(7), event(8), event(8), event(7), event(9));
  expect(told).toEqual(["reset", "8 rule.changed", "9 rule.changed"]);
});

test("a reset moves the place, even backwards", () => {
  const { told, take, seq } = place();
  take(hello(70), { event: "reset", data: '{"seq":3}' }, event(4));
  expect(told).toEqual(["reset", "reset", "4 rule.changed"]);
  expect(seq()).toBe(4);
});

test("words as they are said move nothing", () => {
  const { told, take, seq } = place();
  take(hello(1), { event: "delta", data: '{"text":"hi"}' });
  expect(told).toEqual(["reset", "delta hi"]);
  expect(seq()).toBe(1);
});

test("that the server ends is no event", () => {
  const { told, take, seq } = place();
  take(hello(1), event(2), { event: "goodbye", data: '{"seq":2,"reason":"stopped"}' });
  expect(told).toEqual(["reset", "2 rule.changed"]);
  expect(seq()).toBe(2);
});

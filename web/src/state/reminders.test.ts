import { expect, test } from "vitest";
import { isUrgent, noted, remindersOf, timeLeft, type Reminded, type Reminder } from "./reminders.ts";
import { sampleAsk } from "./samples.ts";

const opened = Date.parse("2026-11-15T18:00:00.000000Z");
const minutes = (count: number) => opened + count * 60_000;
const patient = sampleAsk({ opened_at: "2026-11-15T18:00:00.000000Z" });
const ending = { ...patient, id: "ask_2", expires_at: "2026-11-15T18:30:00.000000Z" };
const NOBODY: Reminded = new Map();
const NONE: Reminder = { why: "waiting", asks: [] };

test("an ask is brought to mind after the time that was wished, and again after as much", () => {
  expect(remindersOf([patient], minutes(14), 15, NOBODY)).toEqual([]);
  const [first] = remindersOf([patient], minutes(15), 15, NOBODY);
  expect(first).toMatchObject({ why: "waiting", asks: [{ id: "ask_1" }] });
  const seen = noted(NOBODY, first ?? NONE, minutes(16), 15);
  expect(remindersOf([patient], minutes(29), 15, seen)).toEqual([]);
  expect(remindersOf([patient], minutes(30), 15, seen)).toHaveLength(1);
});

test("whoever wishes no reminders gets none, but is told before an ask runs out", () => {
  expect(remindersOf([patient, ending], minutes(20), 0, NOBODY)).toEqual([]);
  const [last] = remindersOf([patient, ending], minutes(26), 0, NOBODY);
  expect(last).toMatchObject({ why: "expiring", asks: [{ id: "ask_2" }] });
  expect(remindersOf([ending], minutes(27), 0, noted(NOBODY, last ?? NONE, minutes(26), 0))).toEqual([]);
});

test("what is left until an ask runs out is never less than nothing", () => {
  expect(timeLeft(patient, minutes(1))).toBeUndefined();
  expect(timeLeft(ending, minutes(29))).toBe(60_000);
  expect(timeLeft(ending, minutes(99))).toBe(0);
  expect([isUrgent(ending, minutes(24)), isUrgent(ending, minutes(25)), isUrgent(patient, minutes(99))]).toEqual([false, true, false]);
});

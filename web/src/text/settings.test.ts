import { expect, test } from "vitest";
import { chosenFor, grouped, nameOf, usageLine } from "./settings.ts";
import { ADA } from "../state/samples.ts";

test("usage is said in a line, and what costs nothing is not", () => {
  expect(usageLine({ used: 1204, size: 32_000 })).toBe("1,204 of 32,000 tokens");
  expect(usageLine({ used: 1, size: 2, cost: { amount: 0, currency: "USD" } })).toBe("1 of 2 tokens");
  expect(usageLine({ used: 1, size: 2, cost: { amount: 0.1234, currency: "USD" } })).toBe("1 of 2 tokens · 0.12 USD");
  expect(usageLine({ used: 1, size: 2, cost: { amount: 0.0006, currency: "USD" } })).toBe("1 of 2 tokens · under 0.01 USD");
  expect(usageLine({ used: 1204, size: 0 })).toBe("1,204 tokens");
});

test("a choice is called by its name, and one that is not offered by its id", () => {
  const selection = { current: "a", choices: [{ id: "a", name: "Ask\u202E" }] };
  expect(nameOf(selection, "a")).toBe("Ask⟨U+202E⟩");
  expect(nameOf(selection, "b")).toBe("b");
});

test("what somebody chose is found by what it is for", () => {
  const at = "2026-11-15T18:44:00.000000Z";
  const chosen = [
    { setting: "mode" as const, value: "plan", by: ADA, at },
    { setting: { option: "mode" }, value: true, by: ADA, at },
  ];
  expect(chosenFor(chosen, "mode")).toBe("plan");
  expect(chosenFor(chosen, { option: "mode" })).toBe(true);
  expect(chosenFor(chosen, "model")).toBeUndefined();
});

test("choices stand under their headings", () => {
  const choice = (id: string, group?: string) => ({ id, name: id, ...(group === undefined ? {} : { group }) });
  const groups = grouped([choice("a"), choice("b", "G"), choice("c", "G"), choice("d")]);
  expect(groups.map(({ group, choices }) => [group, choices.length])).toEqual([
    ["", 1],
    ["G", 2],
    ["", 1],
  ]);
});

import { expect, test } from "vitest";
import type { SlashCommand } from "../api/types.ts";
import { firstMeant, fitting, stepOf, withCommand } from "./commands.ts";

const command = (name: string): SlashCommand => ({ name, description: `Does ${name}` });
const COMMANDS = ["help", "memory", "memory show", "Model"].map(command);
const names = (text: string) => fitting(COMMANDS, text).map(({ name }) => name);

test("commands are offered while one is being written", () => {
  expect(names("/")).toEqual(["help", "memory", "memory show", "Model"]);
  expect(names("/m")).toEqual(["memory", "memory show", "Model"]);
  expect(names("/MEMORY s")).toEqual(["memory show"]);
  expect(names("/mo")).toEqual(["Model"]);
});

test("nothing is offered for words, for a whole command, or for what follows it", () => {
  const texts = ["", "help", " /help", "/help", "/help ", "/help me", "/nothing", "/\n"];
  expect(texts.flatMap(names)).toEqual([]);
});

test("Enter sends a whole command even if a longer one fits", () => {
  expect(names("/memory")).toEqual(["memory show"]);
  expect(firstMeant(COMMANDS, "/memory")).toBe(-1);
  expect(stepOf("Enter", -1, 1)).toBeUndefined();
  expect(stepOf("ArrowDown", -1, 1)).toEqual({ do: "move", to: 0 });
  expect(firstMeant(COMMANDS, "/mem")).toBe(0);
});

test("keys go round, take and close, and the rest is left to the field", () => {
  expect(stepOf("ArrowDown", 2, 3)).toEqual({ do: "move", to: 0 });
  expect(stepOf("ArrowUp", 0, 3)).toEqual({ do: "move", to: 2 });
  expect(stepOf("ArrowUp", -1, 3)).toEqual({ do: "move", to: 2 });
  expect(stepOf("Tab", 1, 3)).toEqual({ do: "take", which: 1 });
  expect(stepOf("Escape", 1, 3)).toEqual({ do: "close" });
  expect(stepOf("a", 1, 3)).toBeUndefined();
  expect(stepOf("Enter", 0, 0)).toBeUndefined();
});

test("what is taken leaves room for more", () => {
  expect(withCommand(command("memory show"))).toBe("/memory show ");
});

import { expect, test } from "vitest";
import type { ToolCall } from "../api/types.ts";
import { todosOf } from "./todos.ts";

const call = (input: unknown, tool = "todowrite"): ToolCall => ({ kind: "tool", tool, status: "completed", input, output: "" }) as ToolCall;

test("what an agent writes down to do is a list", () => {
  const todos = [
    { content: "sow", status: "completed", priority: "high" },
    { content: "water", status: "in_progress", priority: "low" },
    { content: "weed", status: "cancelled" },
  ];
  const expected = [
    { text: "sow", status: "completed" },
    { text: "water", status: "in_progress" },
    { text: "weed", status: "cancelled" },
  ];
  expect(todosOf(call({ todos }))).toEqual(expected);
  expect(todosOf(call({ todos }, "TodoWrite"))).toEqual(expected);
  expect(todosOf({ ...call({ todos }), status: "failed" })).toBeUndefined();
});

test("what cannot be read to its last entry stays the call that it is", () => {
  for (const input of [null, "todos", {}, { todos: "sow" }, { todos: [] }, { todos: [{ content: 1, status: "pending" }] }, { todos: [{ content: "sow", status: "later" }] }, { todos: [{ content: "sow", status: "pending" }, null] }]) {
    expect(todosOf(call(input))).toBeUndefined();
  }
  expect(todosOf(call({ todos: Array.from({ length: 101 }, () => ({ content: "sow", status: "pending" })) }))).toBeUndefined();
  expect(todosOf(call({ todos: [{ content: "sow", status: "pending" }] }, "bash"))).toBeUndefined();
});

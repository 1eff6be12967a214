/* The list of what is to be done, where an agent keeps one with a tool: opencode's `todowrite`, and those called alike. */
import type { Plan, ToolCall } from "../api/types.ts";

export type TodoStatus = Plan["steps"][number]["status"] | "cancelled";

export interface Todo {
  text: string;
  status: TodoStatus;
}

/** More than anybody reads: such a call is shown as the call that it is. */
const MOST = 100;
/** The longest that one is shown. */
const LONGEST = 1_000;

const STATUSES: readonly TodoStatus[] = ["pending", "in_progress", "completed", "cancelled"];

/** The list that a call wrote down; nothing if it is another call, failed, or cannot be read to the last entry. */
export function todosOf(call: ToolCall): Todo[] | undefined {
  if (call.tool.toLowerCase().replaceAll("_", "") !== "todowrite" || call.status === "failed") return undefined;
  const { input } = call;
  const listed: unknown = typeof input === "object" && input !== null && "todos" in input ? input.todos : undefined;
  if (!Array.isArray(listed) || listed.length === 0 || listed.length > MOST) return undefined;
  const todos = listed.map(todoOf);
  return todos.every((todo) => todo !== undefined) ? todos : undefined;
}

function todoOf(entry: unknown): Todo | undefined {
  if (typeof entry !== "object" || entry === null || !("content" in entry) || !("status" in entry)) return undefined;
  const status = STATUSES.find((each) => each === entry.status);
  if (typeof entry.content !== "string" || entry.content.length > LONGEST || status === undefined) return undefined;
  return { text: entry.content, status };
}

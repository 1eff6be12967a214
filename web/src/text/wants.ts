/* What somebody wants, as the end of a sentence that begins with their name. */
import type { AskView } from "../api/types.ts";
import { visible } from "./visible.ts";

const WANTS: Readonly<Record<string, string>> = {
  bash: "wants to run a command",
  edit: "wants to change a file",
  write: "wants to write a file",
  patch: "wants to change files",
  read: "wants to read a file",
  external_directory: "wants to reach outside the workspace",
  webfetch: "wants to fetch a page",
  websearch: "wants to search the web",
  task: "wants to start a sub-agent",
  doom_loop: "repeats itself and wants to go on",
};

export function wantOf(ask: AskView): string {
  if (ask.subject.kind === "question") {
    return ask.subject.questions.length > 1 ? `has ${ask.subject.questions.length} questions` : "has a question";
  }
  if (ask.subject.kind === "workspace_write") return `proposes a write, ${visible(ask.subject.action)}`;
  const { tool } = ask.subject;
  return (Object.hasOwn(WANTS, tool) ? WANTS[tool] : undefined) ?? `wants to use ${visible(tool)}`;
}

/* An icon for what an ask is about. */
import type { AskView } from "../api/types.ts";
import { File, Question, Terminal, Tool } from "./icons.tsx";

const FILE_TOOLS = new Set(["edit", "write", "patch", "read", "external_directory"]);

export function AskIcon(props: { ask: AskView }) {
  const { subject } = props.ask;
  if (subject.kind === "question") return <Question />;
  if (subject.kind === "workspace_write") return <File />;
  if (subject.tool === "bash") return <Terminal />;
  return FILE_TOOLS.has(subject.tool) ? <File /> : <Tool />;
}

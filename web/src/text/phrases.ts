/* How asks and answers are put into words. */
import type { Answer, AskView, Door, Evidence, Me, Surface } from "../api/types.ts";

const SURFACES: Readonly<Record<Surface, string>> = {
  web: "in a browser",
  cli: "in a terminal",
  api: "over HTTP",
  rule: "by a rule",
  engine: "at the engine itself",
};

/** What the ask is about, in a word or two. */
export function kindOf(ask: AskView): string {
  return ask.subject.kind === "question" ? "Question" : ask.subject.tool;
}

/** `Allowed once`, `Denied`, … */
export function verdictOf(answer: Answer): string {
  switch (answer.answer) {
    case "allow_once":
      return answer.surface === "rule" ? "Allowed by a rule" : "Allowed once";
    case "allow_always":
      return `Always allowed ${answer.scope === "session" ? "in this session" : "in this workspace"}`;
    case "deny":
      return "Denied";
    case "choices":
      return "Answered";
    case "option":
      return `Answered with “${answer.id}”`;
  }
}

export function isYes(answer: Answer): boolean {
  if (answer.answer === "option") return answer.kind !== "deny" && answer.kind !== "deny_always";
  return answer.answer !== "deny";
}

/** Who gave the answer: `you`, or a name and where. */
export function giverOf(answer: Answer, me: Me): string {
  if (answer.by.id === me.actor.id) return answer.surface === me.surface ? "you" : `you, ${SURFACES[answer.surface]}`;
  return answer.surface === "rule" ? answer.by.name : `${answer.by.name}, ${SURFACES[answer.surface]}`;
}

/** What shows that the engine has the answer. */
export function evidenceOf(evidence: Evidence): string {
  switch (evidence.kind) {
    case "announced":
      return `the engine announced ${evidence.event}`;
    case "tool_state":
      return `the tool was found ${evidence.status}`;
    case "reported":
      return `reported as ${evidence.event}`;
    case "written":
      return "it was written to the agent's input";
    case "reported_written":
      return "the proxy wrote it to the agent's input";
  }
}

/** What stands at the field for a reason: between an editor and its agent, nobody else tells the agent anything. */
export function reasonHint(door: Door, act: "denying" | "declining"): { label: string; placeholder: string } {
  return tellsReasons(door)
    ? { label: `Reason for ${act}; the agent reads it`, placeholder: "Tell the agent why…" }
    : { label: `Reason for ${act}, for the record; the agent does not read it`, placeholder: "Why, for the record…" };
}

/** Whether the agent gets to read the reason of a denial. */
export function tellsReasons(door: Door): boolean {
  return door !== "acp_proxy";
}

/** How an ask stands, in one line for a list. */
export function standingOf(ask: AskView, me: Me): string {
  const { answer, state } = ask;
  if (state === "open") return "Waiting";
  if (state === "expired") return "Expired: nobody answered in time";
  if (state === "withdrawn") return `Withdrawn${ask.why === undefined ? "" : `: ${ask.why}`}`;
  if (answer === undefined) return "Answered";
  const said = `${verdictOf(answer)} by ${giverOf(answer, me)}`;
  if (state === "undeliverable") return `${said}; not delivered${ask.why === undefined ? "" : `: ${ask.why}`}`;
  return state === "delivered" ? `${said}, delivered` : `${said}, on its way`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/* How asks and answers are put into words. */
import type { Answer, AskView, Door, Evidence, Me, Surface, WriteSubject } from "../api/types.ts";
import { duration } from "./duration.ts";

const SURFACES: Readonly<Record<Surface, string>> = {
  web: "in a browser",
  cli: "in a terminal",
  api: "over HTTP",
  rule: "by a rule",
  engine: "at the engine itself",
  matrix: "on Matrix",
  telegram: "on Telegram",
  discord: "on Discord",
  slack: "on Slack",
};

/** What the ask is about, in a word or two. */
export function kindOf(ask: AskView): string {
  switch (ask.subject.kind) {
    case "permission":
      return ask.subject.tool;
    case "question":
      return "Question";
    case "workspace_write":
      return ask.subject.action;
  }
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
    case "done":
      return "it was done";
    case "files_written":
      return `the files were written, SHA-256 ${evidence.digest}`;
    case "files_found":
      return `the files were found as they were to be, SHA-256 ${evidence.digest}`;
    case "nothing_written":
      return "nothing was written";
  }
}

/** What the one who proposes a write calls itself, if it says so. */
export function clientOf(subject: WriteSubject): string | undefined {
  const said: unknown = subject.wire_actor;
  if (typeof said !== "object" || said === null || !("clientId" in said)) return undefined;
  return typeof said.clientId === "string" ? said.clientId : undefined;
}

/** Why somebody who can read an ask cannot answer it: what they lack, or that they proposed it. */
export function obstacleOf(ask: AskView, me: Me): "answer" | "approve" | "own" {
  if (ask.subject.kind !== "workspace_write") return "answer";
  return ask.subject.by.id === me.actor.id ? "own" : "approve";
}

/** What stands at the field for a reason: between an editor and its agent, nobody else tells the agent anything. */
export function reasonHint(door: Door, act: "denying" | "declining"): { label: string; placeholder: string } {
  if (tellsReasons(door)) return { label: `Reason for ${act}; the agent reads it`, placeholder: "Tell the agent why…" };
  const reader = door === "workspace" ? "client" : "agent";
  return { label: `Reason for ${act}, for the record; the ${reader} does not read it`, placeholder: "Why, for the record…" };
}

/** Whether the one who asks gets to read the reason of a denial. */
export function tellsReasons(door: Door): boolean {
  return door !== "acp_proxy" && door !== "workspace";
}

/** Why the one who asks does not get to read the reason. */
export function untoldReason(door: Door): string {
  return door === "workspace"
    ? "The client is told that it was denied, and not why."
    : "The agent does not get to read the reason: only its editor talks to it.";
}

/** How an ask stands, in one line for a list. */
export function standingOf(ask: AskView, me: Me): string {
  const { answer, state } = ask;
  if (state === "open") return "Waiting";
  if (state === "expired") return "Expired: nobody answered in time";
  if (state === "withdrawn") return `Withdrawn${ask.why === undefined ? "" : `: ${ask.why}`}`;
  if (answer === undefined) return "Answered";
  const said = `${verdictOf(answer)} by ${giverOf(answer, me)}`;
  const words = carrying(ask);
  if (state === "undeliverable") return `${said}; ${words.failed}${ask.why === undefined ? "" : `: ${ask.why}`}`;
  return `${said}, ${state === "delivered" ? words.done : words.underWay}`;
}

/** How long it took to be answered, and then to be delivered; nothing if nobody answered. */
export function deliveryLine(ask: AskView): string | undefined {
  const { answer, delivery } = ask;
  if (answer === undefined) return undefined;
  const between = (from: string, to: string) => duration(Date.parse(to) - Date.parse(from));
  const answered = answer.surface === "rule" ? [] : [`answered after ${between(ask.opened_at, answer.at)}`];
  if (delivery?.state !== "delivered") return answered.join("") || undefined;
  const took = between(answer.at, delivery.at);
  return [...answered, took === "0 s" ? "delivered within a second" : `delivered ${took} later`].join(", ");
}

/** How several asks that were given one answer stand together. */
export function deliveredIn(asks: readonly AskView[]): number {
  return asks.filter((ask) => ask.state === "delivered").length;
}

/** What carrying an answer is called: one is brought to an engine, a write is done or left. */
export function carrying(ask: AskView): { underWay: string; done: string; failed: string } {
  if (ask.subject.kind !== "workspace_write") return { underWay: "on its way", done: "delivered", failed: "not delivered" };
  const isAllowed = ask.answer !== undefined && isYes(ask.answer);
  return { underWay: "being written", done: isAllowed ? "written" : "nothing written", failed: "not written" };
}

export function capital(words: string): string {
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

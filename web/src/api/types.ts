/* What the HTTP API carries, as far as the page reads it. The Rust types in `countersign-api` are the truth. */

export type Phase = "open" | "answered" | "delivered" | "undeliverable" | "expired" | "withdrawn";
export type Scope = "session" | "workspace";
export type Surface = "web" | "cli" | "api" | "rule" | "engine";
export type Grant = "read" | "prompt" | "propose" | "answer" | "approve" | "administer" | "ask";

export interface Actor {
  id: string;
  kind: "person" | "rule" | "agent" | "bridge";
  name: string;
}

export interface Me {
  actor: Actor;
  grants: Grant[];
  workspace?: string;
  surface: Surface;
}

export type Shown =
  | { kind: "command"; text: string }
  | { kind: "diff"; path: string; patch: string }
  | { kind: "path"; path: string; outside: boolean }
  | { kind: "text"; label: string; text: string };

export interface Question {
  header: string;
  question: string;
  options: { label: string; description: string }[];
  multiple: boolean;
}

export interface PermissionSubject {
  kind: "permission";
  tool: string;
  targets: string[];
  shown: Shown[];
}

export interface QuestionSubject {
  kind: "question";
  questions: Question[];
}

export type Subject = PermissionSubject | QuestionSubject;

export type Choice =
  | { answer: "allow_once" }
  | { answer: "allow_always"; scope: Scope; expires_at?: string }
  | { answer: "deny"; reason?: string }
  | { answer: "choices"; choices: string[][] };

export type Answer = Choice & { by: Actor; surface: Surface; at: string; rule?: string };

export type Evidence =
  | { kind: "announced"; event: string }
  | { kind: "tool_state"; status: string }
  | { kind: "reported"; event: string };

export type Delivery = { attempts: number } & (
  | { state: "pending" }
  | { state: "sending"; since: string }
  | { state: "delivered"; at: string; evidence: Evidence }
  | { state: "undeliverable"; at: string; why: { kind: string } }
);

export interface AskView {
  id: string;
  workspace: string;
  door: "opencode" | "opencode_plugin";
  run: string;
  session: string;
  parent_session?: string;
  requester: string;
  directory: string;
  subject: Subject;
  summary: string;
  raw: unknown;
  options: { id: string; name: string; kind: "allow_once" | "allow_always" | "deny" }[];
  opened_at: string;
  expires_at?: string;
  digest: string;
  likeness: string;
  previous?: string;
  state: Phase;
  why?: string;
  ended_at?: string;
  answer?: Answer;
  delivery?: Delivery;
  siblings: string[];
  may_answer: boolean;
}

export interface AskList {
  asks: AskView[];
  next?: string;
}

export interface AnswerRequest {
  answer: "allow_once" | "allow_always" | "deny" | "choices";
  reason?: string;
  scope?: Scope;
  expires_in_s?: number;
  choices?: string[][];
}

export type TurnOutcome =
  | { outcome: "completed" }
  | { outcome: "denied" }
  | { outcome: "cancelled" }
  | { outcome: "failed"; reason: string };

export interface Turn {
  id: string;
  session: string;
  native_id: string;
  prompt: string;
  started_at: string;
  outcome?: TurnOutcome;
}

export type Activity = "idle" | "busy" | "gone";

export interface SessionView {
  id: string;
  workspace: string;
  native_id: string;
  parent?: string;
  title: string;
  directory: string;
  agent: string;
  activity: Activity;
  started_at: string;
  changed_at: string;
  turn?: Turn;
  open_asks: number;
  may_prompt: boolean;
}

export type ToolStatus = "pending" | "running" | "completed" | "failed";

export type TranscriptItem = { seq: number; native_id: string; at: string } & (
  | { kind: "prompt" | "text" | "thought" | "notice"; text: string }
  | ToolCall
);

export interface ToolCall {
  kind: "tool";
  tool: string;
  status: ToolStatus;
  input: unknown;
  output: string;
  child?: string;
}

export type EnginePhase = "absent" | "starting" | "ready" | "unreachable" | "gone";

export interface WorkspaceView {
  id: string;
  name: string;
  path: string;
  added_at: string;
  engine: {
    program: string;
    version?: string;
    state: EnginePhase;
    message: string;
    run?: string;
    consent: "relay";
  };
}

export interface AlarmView {
  id: string;
  workspace: string;
  session?: string;
  ask?: string;
  at: string;
  message: string;
}

/** Something that happened and is in the ledger. */
export type Event = { seq: number; at: string; workspace: string } & EventBody;

export type EventBody =
  | { type: "ask.opened"; ask: string; session: string; tool: string }
  | { type: "ask.changed"; ask: string; session: string; state: Phase }
  | { type: "session.changed"; session: string; activity: Activity }
  | { type: "turn.changed"; turn: string; session: string; ended: boolean }
  | { type: "item.changed"; session: string; item: number }
  | { type: "engine.changed"; state: EnginePhase; message: string }
  | { type: "rule.changed"; rule: string }
  | { type: "alarm.raised"; alarm: string; message: string };

/** Words as they are being said. */
export interface Delta {
  workspace: string;
  session: string;
  item: string;
  thought: boolean;
  /** How many characters of it were said before. */
  offset: number;
  text: string;
}

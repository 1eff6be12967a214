/*
 * What the HTTP API carries, by the names that the page uses. The shapes are those of the server's own OpenAPI
 * document: `npm run api` reads them from it.
 */
import type { components } from "./schema.d.ts";

type Schemas = components["schemas"];

/**
 * What the server sends: a field that has no value is left out, where the document allows `null` as well, and what
 * an engine sent may be anything.
 */
type Sent<T> = T extends readonly (infer Element)[]
  ? Sent<Element>[]
  : T extends object
    ? { [Key in keyof T]: Key extends "raw" | "input" | "wire_actor" | "detail" ? Anything<T[Key]> : Sent<Exclude<T[Key], null>> }
    : T;

/** Text stays what it is. */
type Anything<T> = T extends string ? T : unknown;

type Named<Name extends keyof Schemas> = Sent<Schemas[Name]>;

export type Phase = Named<"AskPhase">;
export type Scope = Named<"Scope">;
export type Surface = Named<"Surface">;
export type Grant = Named<"Grant">;
export type Actor = Named<"Actor">;
export type Me = Named<"Me">;
export type Paired = Named<"Paired">;
export type PushView = Named<"PushView">;

export type Shown = Named<"Shown">;
export type Question = Named<"Question">;
export type Subject = Named<"Subject">;
export type PermissionSubject = Extract<Subject, { kind: "permission" }>;
export type QuestionSubject = Extract<Subject, { kind: "question" }>;
export type WriteSubject = Extract<Subject, { kind: "workspace_write" }>;

export type OfferedOption = Named<"OfferedOption">;
export type Answer = Named<"Answer">;
export type Door = Named<"Door">;
export type Evidence = Named<"Evidence">;
export type AskView = Named<"AskView">;
export type AskList = Named<"AskList">;
export type AnswerRequest = Named<"AnswerRequest">;
export type Rule = Named<"Rule">;
export type RulePreviewRequest = Named<"RulePreviewRequest">;
export type RulePreview = Named<"RulePreview">;
export type NewRule = Schemas["NewRule"];

export type Role = Named<"Role">;
export type Token = Named<"Token">;
export type NewToken = Schemas["NewToken"];
export type TokenMade = Named<"TokenMade">;
export type PairingView = Named<"PairingView">;

export type AuditEntry = Named<"AuditEntry">;
export type AuditFound = Named<"AuditFound">;
export type ChainView = Named<"ChainView">;
export type Figures = Named<"FiguresView">;
export type DayFigures = Named<"DayView">;
export type Fates = Named<"FatesView">;

export type Activity = Named<"Activity">;
export type TurnOutcome = Named<"TurnOutcome">;
export type SessionView = Named<"SessionView">;
export type NewSession = Named<"NewSession">;
export type EngineOffer = Named<"EngineOffer">;
export type EarlierSession = Named<"EarlierSession">;
export type EarlierSessions = Named<"EarlierSessions">;
export type NewAttachment = Named<"NewAttachment">;
export type Attachment = Named<"Attachment">;
export type TranscriptItem = Named<"TranscriptItem">;
export type ToolCall = Extract<TranscriptItem, { kind: "tool" }>;
/** A piece that is words. */
export type SpokenItem = Extract<TranscriptItem, { text: string }>;

export type SettingsView = Named<"SettingsView">;
export type SetRequest = Named<"SetRequest">;
export type Selection = Named<"Selection">;
export type Alternative = Named<"Alternative">;
export type ConfigOption = Named<"ConfigOption">;
export type SettingName = Named<"SettingName">;
export type SettingValue = Named<"SettingValue">;
export type Chosen = Named<"Chosen">;
export type SlashCommand = Named<"SlashCommand">;
export type Usage = Named<"Usage">;
export type Plan = Extract<TranscriptItem, { kind: "plan" }>;

export type QueuedPrompt = Named<"QueuedPrompt">;
export type SearchHit = Named<"SearchHit">;
export type SearchResult = Named<"SearchResult">;

export type JobView = Named<"JobView">;
export type JobState = Named<"JobState">;
export type JobList = Named<"JobList">;
export type JobLog = Named<"JobLog">;
export type JobLogEntry = Named<"JobLogEntry">;
export type JobDiff = Named<"JobDiff">;
export type NewJob = Named<"NewJob">;

export type EnginePhase = Named<"EnginePhase">;
export type WorkspaceView = Named<"WorkspaceView">;
export type AlarmView = Named<"AlarmView">;

export type Holdings = Named<"HoldingsView">;
export type SkillView = Named<"SkillView">;
export type SkillDetail = Named<"SkillDetail">;
export type CommandView = Named<"CommandView">;
export type PluginView = Named<"PluginView">;
/** What opencode is told of an MCP server may be anything that its configuration holds. */
export type McpView = Omit<Named<"McpView">, "config"> & { config: Record<string, unknown> };
export type TextProblem = Named<"TextProblem">;
export type NewChange = Schemas["NewChange"];
export type ChangePreview = Named<"ChangePreviewView">;
export type ChangeOutcome = Named<"ChangeOutcome">;
export type Export = Named<"ExportView">;

/** Something that happened and is in the ledger. */
export type Event = Named<"Event">;
export type EventBody = Named<"EventBody">;
/** Words as they are being said. */
export type Delta = Named<"Delta">;

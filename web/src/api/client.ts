/* One function for each thing that the page asks of the server. Every failure is an `ApiError` with a sentence. */
import { words } from "../text/words.ts";
import { apiAddress } from "./base.ts";
import { forgetPageKey, keepPageKey, pageKeyHeader } from "./page-key.ts";
import type {
  AlarmView,
  AnswerRequest,
  AskList,
  AskView,
  AuditFound,
  ChainView,
  ChangeOutcome,
  ChangePreview,
  EarlierSessions,
  EngineOffer,
  Export,
  Figures,
  Holdings,
  Me,
  JobDiff,
  JobList,
  JobLog,
  JobView,
  NewAttachment,
  NewChange,
  NewJob,
  NewRule,
  NewSession,
  NewToken,
  Paired,
  PairingView,
  Phase,
  PushView,
  Role,
  Rule,
  RulePreview,
  RulePreviewRequest,
  SearchResult,
  SessionView,
  SetRequest,
  SettingsView,
  SkillDetail,
  Token,
  TokenMade,
  TranscriptItem,
  WorkspaceView,
} from "./types.ts";

/** No answer of the server takes longer than this; a request without one has failed. */
const DEADLINE_MS = 30_000;
/** Where an agent is started for the answer, or much is sent. */
const LONG_DEADLINE_MS = 120_000;

/** A request that was refused or did not get through; `code` is `unreachable` when no server answered. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Record<string, unknown>;

  constructor(status: number, code: string, message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.details = details;
  }

  /** The ask that a refused answer came too late for. */
  get ask(): AskView | undefined {
    const { ask } = this.details;
    return typeof ask === "object" && ask !== null ? (ask as AskView) : undefined;
  }
}

/** What went wrong, as a sentence. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function request<T>(method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: unknown, deadline = DEADLINE_MS): Promise<T> {
  const init: RequestInit = {
    method,
    credentials: "same-origin",
    headers: { Accept: "application/json", ...pageKeyHeader() },
    signal: AbortSignal.timeout(deadline),
  };
  if (body !== undefined) {
    init.headers = { ...init.headers, "Content-Type": "application/json" };
    init.body = JSON.stringify(body);
  }
  let response: Response;
  let text: string;
  try {
    response = await fetch(apiAddress(location.href, path), init);
    text = await response.text();
  } catch (cause) {
    const timedOut = cause instanceof DOMException && cause.name === "TimeoutError";
    throw new ApiError(
      0,
      "unreachable",
      timedOut ? words.server.slow : words.server.unreachable,
    );
  }
  if (!response.ok) throw refusal(response.status, text);
  try {
    return (text === "" ? undefined : JSON.parse(text)) as T;
  } catch {
    throw new ApiError(response.status, "unreadable", words.server.noJson);
  }
}

/** The error that a response with this status and body stands for. */
export function refusal(status: number, text: string): ApiError {
  try {
    const body = JSON.parse(text) as { code: string; message: string; details?: Record<string, unknown> };
    return new ApiError(status, body.code, body.message, body.details ?? {});
  } catch {
    return new ApiError(status, "unreadable", words.server.status(status));
  }
}

function query(parameters: Record<string, string | number | undefined>): string {
  const pairs = Object.entries(parameters).filter((entry): entry is [string, string | number] => entry[1] !== undefined);
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}`;
}

const id = encodeURIComponent;

export const readMe = () => request<Me>("GET", "me");
export async function pair(code: string): Promise<Me> {
  const { page_key, ...me } = await request<Paired>("POST", "pair", { code });
  keepPageKey(page_key);
  return me;
}
export async function signOut(): Promise<void> {
  await request<void>("POST", "sign-out");
  forgetPageKey();
}

export const readWorkspaces = async () =>
  (await request<{ workspaces: WorkspaceView[] }>("GET", "workspaces")).workspaces;

export const addWorkspace = (path: string, name: string) =>
  request<WorkspaceView>("POST", "workspaces", { path, ...(name === "" ? {} : { name }) });
export const renameWorkspace = (workspace: string, name: string) =>
  request<WorkspaceView>("PATCH", `workspaces/${id(workspace)}`, { name });
/** Everything that runs there is ended first. */
export const removeWorkspace = (workspace: string) =>
  request<void>("DELETE", `workspaces/${id(workspace)}`, undefined, LONG_DEADLINE_MS);
export const restartEngine = (workspace: string) => request<void>("POST", `workspaces/${id(workspace)}/engine/restart`);
export const reloadEngine = (workspace: string) => request<void>("POST", `workspaces/${id(workspace)}/engine/reload`);

export const readHoldings = (workspace: string) => request<Holdings>("GET", `workspaces/${id(workspace)}/holdings`);
export const readSkill = (workspace: string, name: string) =>
  request<SkillDetail>("GET", `workspaces/${id(workspace)}/skills/${id(name)}`);
export const readExport = (workspace: string) => request<Export>("GET", `workspaces/${id(workspace)}/export`);
/** What a change would come to; nothing is changed by asking. `read` is the digest of the file that it was made from. */
export const previewChange = (workspace: string, change: NewChange, read?: string) =>
  request<ChangePreview>("POST", `workspaces/${id(workspace)}/changes/preview`, { change, ...(read === undefined ? {} : { read }) });
export const proposeChange = (workspace: string, change: NewChange, digest: string) =>
  request<ChangeOutcome>("POST", `workspaces/${id(workspace)}/changes`, { change, digest });

export const readAsk = (ask: string) => request<AskView>("GET", `asks/${id(ask)}`);
export const readAsks = (filter: { state?: Phase; session?: string; workspace?: string; limit?: number; before?: string }) =>
  request<AskList>("GET", `asks${query(filter)}`);
export const answerAsk = (ask: string, answer: AnswerRequest) =>
  request<AskView>("POST", `asks/${id(ask)}/answer`, answer);

export const readSessions = async () => (await request<{ sessions: SessionView[] }>("GET", "sessions")).sessions;
export const readSession = (session: string) => request<SessionView>("GET", `sessions/${id(session)}`);
export const startSession = (wish: NewSession) => request<SessionView>("POST", "sessions", wish, LONG_DEADLINE_MS);
/** The sessions that an engine had before in a workspace. */
export const readEarlierSessions = (engine: string, workspace: string) =>
  request<EarlierSessions>("GET", `engines/${id(engine)}/sessions${query({ workspace })}`, undefined, LONG_DEADLINE_MS);
export const readEngines = async () => (await request<{ engines: EngineOffer[] }>("GET", "engines")).engines;
export const readItems = async (session: string, after: number, limit?: number) =>
  (await request<{ items: TranscriptItem[] }>("GET", `sessions/${id(session)}/items${query({ after, limit })}`)).items;
/** The newest items of a session, a few of them. */
export const readLastItems = async (session: string, last: number) =>
  (await request<{ items: TranscriptItem[] }>("GET", `sessions/${id(session)}/items${query({ last })}`)).items;
export const sendPrompt = (session: string, text: string, turn: string, attachments: readonly NewAttachment[]) =>
  request<{ turn: string; session: string }>(
    "POST",
    `sessions/${id(session)}/prompt`,
    { text, turn, ...(attachments.length === 0 ? {} : { attachments }) },
    LONG_DEADLINE_MS,
  );
/** The content of something that came along with a prompt. */
export async function readAttachmentContent(attachment: string): Promise<Blob> {
  const response = await fetch(apiAddress(location.href, `attachments/${id(attachment)}`), {
    credentials: "same-origin",
    headers: pageKeyHeader(),
    signal: AbortSignal.timeout(LONG_DEADLINE_MS),
  });
  if (!response.ok) throw refusal(response.status, await response.text());
  return response.blob();
}
export const cancelTurn = (session: string) => request<SessionView>("POST", `sessions/${id(session)}/cancel`);
export const readSettings = (session: string) => request<SettingsView>("GET", `sessions/${id(session)}/settings`);
export const changeSettings = (session: string, change: SetRequest) =>
  request<SettingsView>("POST", `sessions/${id(session)}/settings`, change);

/** Takes back a prompt that waits until the agent has come to the end of what it is doing. */
export const takeBack = (session: string, turn: string) =>
  request<SessionView>("POST", `sessions/${id(session)}/take-back`, { turn });
/** Looks for words in every transcript, from the newest back. */
export const search = (q: string, before?: string) => request<SearchResult>("GET", `search${query({ q, before, limit: 20 })}`);

export const readJobs = (filter: { limit?: number; before?: string }) => request<JobList>("GET", `jobs${query(filter)}`);
export const readJob = (job: string) => request<JobView>("GET", `jobs/${id(job)}`);
export const readJobLog = (job: string, after: number) => request<JobLog>("GET", `jobs/${id(job)}/log${query({ after })}`);
export const readJobDiff = (job: string) => request<JobDiff>("GET", `jobs/${id(job)}/diff`);
export const handInJob = (job: NewJob) => request<JobView>("POST", "jobs", job, LONG_DEADLINE_MS);
export const cancelJob = (job: string) => request<JobView>("POST", `jobs/${id(job)}/cancel`);
export const retryJob = (job: string, newId: string) => request<JobView>("POST", `jobs/${id(job)}/retry`, { id: newId });
export const prioritiseJob = (job: string, priority: number) => request<JobView>("POST", `jobs/${id(job)}/priority`, { priority });
/** Settles what becomes of a job's worktree. */
export const settleWorktree = (job: string, how: "keep" | "discard") =>
  request<JobView>("POST", `jobs/${id(job)}/${how}`, undefined, LONG_DEADLINE_MS);

export const readPush = () => request<PushView>("GET", "push");
/** Has this browser told of new asks, where its push service said. */
export const subscribe = (subscription: PushSubscriptionJSON) => request<void>("PUT", "push/subscription", subscription);
export const unsubscribe = () => request<void>("DELETE", "push/subscription");

export const readAlarms = () => request<AlarmView[]>("GET", "alarms");

export const readRules = async () => (await request<{ rules: Rule[] }>("GET", "rules")).rules;
/** What a rule would have matched in the last days; nothing is changed by asking. */
export const previewRule = (rule: RulePreviewRequest) => request<RulePreview>("POST", "rules/preview", rule);
export const makeRule = (rule: NewRule) => request<Rule>("POST", "rules", rule);
/** Has a rule end in so many seconds, which has to be before it ends by itself. */
export const expireRule = (rule: string, seconds: number) => request<Rule>("POST", `rules/${id(rule)}/expire`, { expires_in_s: seconds });
export const revokeRule = (rule: string) => request<void>("DELETE", `rules/${id(rule)}`);

export const readTokens = async () => (await request<{ tokens: Token[] }>("GET", "tokens")).tokens;
export const makeToken = (token: NewToken) => request<TokenMade>("POST", "tokens", token);
/** Takes a token back, or signs a browser out. */
export const revokeToken = (token: string) => request<void>("DELETE", `tokens/${id(token)}`);
export const makePairing = (name: string, role: Role) => request<PairingView>("POST", "pairings", { name, role });

export const readChains = async () => (await request<{ chains: ChainView[] }>("GET", "audit/chains")).chains;
/** Follows every chain of the audit from end to end. */
export const verifyAudit = () => request<unknown>("GET", "audit/verify", undefined, LONG_DEADLINE_MS);
export interface AuditSearch {
  workspace?: string | undefined;
  actor?: string | undefined;
  action?: string | undefined;
  text?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
  before?: number | undefined;
  limit?: number | undefined;
}
export const searchAudit = (wish: AuditSearch) => request<AuditFound>("GET", `audit/search${query({ ...wish })}`);
export const readFigures = (wish: { workspace?: string | undefined; days: number; utc_offset_min: number; target_s: number }) =>
  request<Figures>("GET", `figures${query({ ...wish })}`);

/**
 * opencode as its plugin meets it: what it announces, and the two ways to answer it. A reply through the
 * plugin's own client can be accepted and dropped (`200 true`), so what counts is what opencode announces.
 */
import { Buffer } from "node:buffer";
import type { Reply } from "./door.ts";

interface Result {
  readonly data?: unknown;
  readonly error?: unknown;
}

interface Call {
  readonly url: string;
  readonly path?: Record<string, string>;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** The part of opencode's client that is used here. */
export interface Client {
  readonly _client: {
    get(call: Call): Promise<Result>;
    post(call: Call): Promise<Result>;
  };
  readonly session: {
    get(options: { path: { id: string } }): Promise<Result>;
  };
  readonly tui?: {
    showToast(options: {
      body: { title: string; message: string; variant: "warning" };
    }): Promise<unknown>;
  };
  readonly app?: {
    log(options: {
      body: { service: string; level: "warn"; message: string };
    }): Promise<unknown>;
  };
  postSessionIdPermissionsPermissionId?(options: {
    path: { id: string; permissionID: string };
    body: { response: "once" };
  }): Promise<Result>;
}

/** What opencode gives to a plugin. */
export interface PluginContext {
  readonly client: Client;
  readonly directory: string;
  readonly serverUrl: URL;
}

/** Something that opencode announces. */
export interface Event {
  readonly type: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** What a plugin gives to opencode. */
export interface Hooks {
  dispose?: () => Promise<void>;
  event?: (input: { event: Event }) => Promise<void>;
  "tool.execute.before"?: (
    input: { sessionID: string; callID: string },
    output: { args: unknown },
  ) => Promise<void>;
  "tool.execute.after"?: (input: { sessionID: string; callID: string }) => Promise<void>;
}

/** A request for leave, or a question. */
export interface Request {
  readonly kind: "permission" | "question";
  readonly id: string;
  readonly session: string;
  /** The tool call that waits. */
  readonly call: string | undefined;
  /** Everything that opencode said about it. */
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Who asks. */
export interface SessionNames {
  readonly id: string;
  readonly title: string;
  readonly agent?: string;
  readonly directory?: string;
  readonly parent?: { readonly id: string; readonly title: string };
}

/** How long opencode may take to answer its own plugin. */
const PATIENCE_MS = 10_000;

export class Opencode {
  readonly directory: string;
  readonly #client: Client;
  readonly #serverUrl: URL;
  readonly #headers: Record<string, string>;

  constructor(context: PluginContext, environment: Readonly<Record<string, string | undefined>>) {
    this.directory = context.directory;
    this.#client = context.client;
    this.#serverUrl = context.serverUrl;
    this.#headers = {
      "content-type": "application/json",
      "x-opencode-directory": encodeURIComponent(context.directory),
    };
    const password = environment["OPENCODE_SERVER_PASSWORD"];
    if (password) {
      const user = environment["OPENCODE_SERVER_USERNAME"] || "opencode";
      const pair = Buffer.from(`${user}:${password}`).toString("base64");
      this.#headers["authorization"] = `Basic ${pair}`;
    }
  }

  async version(): Promise<string> {
    const health = await this.#read("/global/health");
    const version = field(health, "version");
    return typeof version === "string" && /^[!-~]{1,80}$/.test(version) ? version : "unknown";
  }

  /** What a session is called, as far as opencode tells. */
  async names(id: string, agent: string | undefined): Promise<SessionNames> {
    const session = await this.#session(id);
    const parentId = text(field(session, "parentID"));
    const parent = parentId === undefined ? undefined : await this.#session(parentId);
    const directory = text(field(session, "directory"));
    return {
      id,
      title: text(field(session, "title")) ?? "",
      ...(agent === undefined ? {} : { agent }),
      ...(directory === undefined ? {} : { directory }),
      ...(parentId === undefined
        ? {}
        : { parent: { id: parentId, title: text(field(parent, "title")) ?? "" } }),
    };
  }

  /** Replies through the plugin's own client. Whether that did anything, only an announcement tells. */
  async replyByClient(request: Request, reply: Reply): Promise<void> {
    const once = this.#client.postSessionIdPermissionsPermissionId?.bind(this.#client);
    if (reply.reply === "once" && once !== undefined) {
      const path = { id: request.session, permissionID: request.id };
      await within(PATIENCE_MS, once({ path, body: { response: "once" } }));
      return;
    }
    const { url, body } = replyCall(request, reply);
    const headers = { "content-type": "application/json" };
    await within(PATIENCE_MS, this.#client._client.post({ url, body, headers }));
  }

  /**
   * Replies over the server's address, if the server there holds the request: the address that a plugin is
   * told can be another server's, or nobody's. Says whether it was sent.
   */
  async replyByUrl(request: Request, reply: Reply): Promise<boolean> {
    if ((await this.#heldAtUrl(request)) !== true) return false;
    const { url, body } = replyCall(request, reply);
    const response = await this.#fetch(url, { method: "POST", body: JSON.stringify(body) });
    return response?.ok === true;
  }

  /** Whether opencode still waits for the reply, by all the lists that can be read. */
  async isHeld(request: Request): Promise<boolean> {
    const [byClient, atUrl] = await Promise.all([
      this.#read(`/${request.kind}`).then((list) => lists(list, request)),
      this.#heldAtUrl(request),
    ]);
    return byClient || atUrl === true;
  }

  /** Nothing if no list can be read there. */
  async #heldAtUrl(request: Request): Promise<boolean | undefined> {
    const response = await this.#fetch(`/${request.kind}`, {});
    if (response?.ok !== true) return undefined;
    return lists(await response.json().catch(() => undefined), request);
  }

  async #fetch(
    path: string,
    init: { method?: string; body?: string },
  ): Promise<Response | undefined> {
    try {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const url = new URL(path, this.#serverUrl);
      return await fetch(url, { ...init, headers: this.#headers, redirect: "error", signal });
    } catch {
      return undefined;
    }
  }

  async #session(id: string): Promise<unknown> {
    const session = this.#client.session.get({ path: { id } });
    return (await within(PATIENCE_MS, session).catch(() => undefined))?.data;
  }

  async #read(url: string): Promise<unknown> {
    const read = this.#client._client.get({ url });
    return (await within(PATIENCE_MS, read).catch(() => undefined))?.data;
  }
}

/** The request in an announcement, if there is one. */
export function readRequest(event: Event): Request | undefined {
  const kind =
    event.type === "permission.asked"
      ? "permission"
      : event.type === "question.asked"
        ? "question"
        : undefined;
  const id = text(event.properties["id"]);
  const session = text(event.properties["sessionID"]);
  if (kind === undefined || id === undefined || session === undefined) return undefined;
  const call = text(field(event.properties["tool"], "callID"));
  return { kind, id, session, call, properties: event.properties };
}

export function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function field(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Record<string, unknown>)[name];
}

function replyCall(request: Request, reply: Reply): { url: string; body: unknown } {
  const at = `/${request.kind}/${encodeURIComponent(request.id)}`;
  switch (reply.reply) {
    case "once":
      return { url: `${at}/reply`, body: { reply: "once" } };
    case "reject":
      return { url: `${at}/reply`, body: { reply: "reject", message: reply.message } };
    case "answers":
      return { url: `${at}/reply`, body: { answers: reply.answers } };
    case "decline":
      return { url: `${at}/reject`, body: {} };
  }
}

function lists(list: unknown, request: Request): boolean {
  return Array.isArray(list) && list.some((held: unknown) => field(held, "id") === request.id);
}

function within<T>(limit: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${limit} ms`)), limit);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/* Asks, sessions and jobs for tests. */
import type { Actor, AskView, JobView, SessionView } from "../api/types.ts";

export const ADA: Actor = { id: "actor_ada", kind: "person", name: "Ada" };

export function sampleAsk(change: Partial<AskView> = {}): AskView {
  return {
    id: "ask_1",
    workspace: "ws_1",
    door: "opencode",
    run: "run_1",
    session: "session_1",
    requester: "build",
    directory: "/home/ada/project",
    subject: { kind: "permission", tool: "bash", targets: ["git status"], shown: [{ kind: "command", text: "git status" }] },
    summary: "git status",
    raw: { command: "git status" },
    options: [],
    opened_at: "2026-11-15T18:43:57.833001Z",
    digest: "d1",
    likeness: "l1",
    state: "open",
    siblings: [],
    may_answer: true,
    ...change,
  };
}

export const BOB: Actor = { id: "actor_bob", kind: "person", name: "Bob" };

/** A write that somebody proposes. */
export function sampleWrite(by: Actor = BOB): AskView {
  return sampleAsk({
    door: "workspace",
    requester: by.name,
    subject: {
      kind: "workspace_write",
      action: "plugins.add",
      summary: "Add plugin notes",
      paths: ["opencode.jsonc"],
      changes: [{ path: "opencode.jsonc", patch: "--- opencode.jsonc\n+++ opencode.jsonc\n@@ -1 +1 @@\n-{}\n+{\"plugin\": [\"notes\"]}\n" }],
      by,
      wire_actor: { type: "remote", clientId: "phone" },
    },
    summary: "Add plugin notes",
  });
}

export function sampleSession(change: Partial<SessionView> = {}): SessionView {
  return {
    id: "session_1",
    workspace: "ws_1",
    engine: "opencode",
    native_id: "ses_1",
    title: "Tidy up",
    directory: "/home/ada/project",
    agent: "build",
    activity: "idle",
    started_at: "2026-11-15T18:43:00.000000Z",
    changed_at: "2026-11-15T18:43:00.000000Z",
    open_asks: 0,
    may_prompt: true,
    ...change,
  };
}

export function sampleJob(change: Partial<JobView> = {}): JobView {
  return {
    id: "task-m1-abcdef",
    kind: "task",
    state: "running",
    phase: "running",
    by: ADA,
    workspace: "ws_1",
    workspace_path: "/home/ada/project",
    directory: "/home/ada/project",
    engine: "opencode",
    on_ask: "wait",
    access: "write",
    title: "Tidy up",
    prompt: "Tidy up, please",
    priority: 0,
    created_at: "2026-11-17T12:00:00.000000Z",
    changed_at: "2026-11-17T12:00:00.000000Z",
    idle_limit_seconds: 3600,
    ask_expires_seconds: 1800,
    open_asks: [],
    may_cancel: true,
    ...change,
  };
}

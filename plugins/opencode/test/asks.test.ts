import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type { TestContext } from "node:test";
import { Asks } from "../src/asks.ts";
import { Door } from "../src/door.ts";
import { Opencode } from "../src/opencode.ts";
import type { Client, Event } from "../src/opencode.ts";
import { Stand } from "./stand.ts";
import { Voice } from "../src/voice.ts";

const countersign = await Stand.start();
const engine = await Stand.start();
after(() => Promise.all([countersign.stop(), engine.stop()]));
beforeEach(() => {
  countersign.reset();
  engine.reset();
  countersign.on("POST /api/v1/door/runs", { status: 201, body: { run: "run_1" } });
  countersign.on("POST /api/v1/door/runs/run_1/asks", {
    status: 201,
    body: { ask: "ask_1", state: "open" },
  });
});

const ANSWER = "GET /api/v1/door/runs/run_1/asks/ask_1/answer";
const REPORT = "POST /api/v1/door/runs/run_1/asks/ask_1/report";
const ASKED: Event = {
  type: "permission.asked",
  properties: {
    id: "per_1",
    sessionID: "ses_1",
    permission: "bash",
    patterns: ["echo hi"],
    metadata: {},
    tool: { messageID: "msg_1", callID: "call_1" },
  },
};
const replied = (reply: string): Event => ({
  type: "permission.replied",
  properties: { sessionID: "ses_1", requestID: "per_1", reply },
});

interface Scene {
  readonly asks: Asks;
  readonly replies: unknown[];
  readonly said: string[];
}

/** An opencode whose own client hands every reply to `onReply`. */
function scene(t: TestContext, onReply: (asks: Asks) => void, argv = ["bun", "worker", "serve"]): Scene {
  const replies: unknown[] = [];
  const said: string[] = [];
  t.mock.method(console, "error", (line: string) => said.push(line));
  const take = async (body: unknown): Promise<{ data: unknown }> => {
    replies.push(body);
    onReply(asks);
    return { data: true };
  };
  const client: Client = {
    _client: {
      get: async () => ({ data: undefined }),
      post: (call) => take(call.body),
    },
    session: { get: async () => ({ data: { title: "Fix it", directory: "/srv/proj" } }) },
    postSessionIdPermissionsPermissionId: (options) => take(options.body),
  };
  const context = { client, directory: "/srv/proj", serverUrl: new URL(engine.url) };
  const opencode = new Opencode(context, { OPENCODE_SERVER_PASSWORD: "secret" });
  const door = new Door({ url: countersign.url, token: "cs_token" }, opencode, 4711);
  const asks: Asks = new Asks(door, opencode, new Voice(client, argv));
  t.after(() => asks.end());
  return { asks, replies, said };
}

test("an answer is reported as announced once opencode has announced it", async (t) => {
  countersign.on(ANSWER, { status: 200, body: { state: "answered", reply: { reply: "once" } } });
  const { asks, replies } = scene(t, (asks) => void asks.take(replied("once")));
  await asks.take(ASKED);
  const report = await countersign.wait(REPORT);
  assert.deepEqual(report.body, { outcome: "announced", reply: "once" });
  assert.deepEqual(replies, [{ response: "once" }]);
  assert.equal(report.headers["authorization"], "Bearer cs_token");
});

test("a reply that is dropped goes over the server's address, and is not reported before", async (t) => {
  countersign.on(ANSWER, { status: 200, body: { state: "answered", reply: { reply: "once" } } });
  engine.on("GET /permission", { status: 200, body: [{ id: "per_1" }] });
  engine.on("POST /permission/per_1/reply", { status: 200, body: true });
  const { asks } = scene(t, () => undefined);
  await asks.take(ASKED);
  const reply = await engine.wait("POST /permission/per_1/reply");
  assert.deepEqual(reply.body, { reply: "once" });
  assert.equal(reply.headers["x-opencode-directory"], encodeURIComponent("/srv/proj"));
  assert.equal(reply.headers["authorization"], `Basic ${btoa("opencode:secret")}`);
  assert.equal(countersign.calls(REPORT).length, 0);
  await asks.take(replied("once"));
  const report = await countersign.wait(REPORT);
  assert.deepEqual(report.body, { outcome: "announced", reply: "once" });
});

test("a server that does not hold the request gets no reply, and the ask is gone", async (t) => {
  countersign.on(ANSWER, { status: 200, body: { state: "answered", reply: { reply: "once" } } });
  engine.on("GET /permission", { status: 200, body: [] });
  const { asks } = scene(t, () => undefined);
  await asks.take(ASKED);
  const report = await countersign.wait(REPORT);
  assert.deepEqual(report.body, { outcome: "gone" });
  assert.equal(engine.calls("POST /permission/per_1/reply").length, 0);
});

test("what is answered in the terminal is reported as answered here", async (t) => {
  countersign.hold(ANSWER);
  const { asks, replies } = scene(t, () => undefined);
  await asks.take(ASKED);
  await countersign.wait(ANSWER);
  await asks.take(replied("always"));
  const report = await countersign.wait(REPORT);
  assert.deepEqual(report.body, { outcome: "answered_here", reply: "always" });
  assert.deepEqual(replies, []);
});

test("a session that comes to rest waits for nothing any more", async (t) => {
  countersign.hold(ANSWER);
  const { asks } = scene(t, () => undefined);
  await asks.take(ASKED);
  await countersign.wait(ANSWER);
  await asks.take({ type: "session.idle", properties: { sessionID: "ses_1" } });
  const report = await countersign.wait(REPORT);
  assert.deepEqual(report.body, { outcome: "gone" });
});

test("the tool's input is handed in with the ask", async (t) => {
  countersign.hold(ANSWER);
  const { asks } = scene(t, () => undefined);
  const before = asks.hooks()["tool.execute.before"];
  await before?.({ sessionID: "ses_1", callID: "call_1" }, { args: { command: "echo hi; rm x" } });
  await asks.take(ASKED);
  const handed = await countersign.wait("POST /api/v1/door/runs/run_1/asks");
  assert.deepEqual(handed.body, {
    kind: "permission",
    request: ASKED.properties,
    session: { id: "ses_1", title: "Fix it", directory: "/srv/proj" },
    input: { command: "echo hi; rm x" },
  });
});

test("a life that the server has forgotten is announced again, and the ask handed in again", async (t) => {
  const forgotten = { status: 404, body: { code: "not_found", message: "there is no run" } };
  countersign.on(ANSWER, forgotten);
  countersign.on("POST /api/v1/door/runs/run_2/asks", {
    status: 201,
    body: { ask: "ask_2", state: "open" },
  });
  countersign.hold("GET /api/v1/door/runs/run_2/asks/ask_2/answer");
  const { asks } = scene(t, () => undefined);
  await asks.take(ASKED);
  await countersign.wait(ANSWER);
  countersign.on("POST /api/v1/door/runs", { status: 201, body: { run: "run_2" } });
  await countersign.wait("GET /api/v1/door/runs/run_2/asks/ask_2/answer");
});

test("a server that is away is spoken of once, and the ask is handed in when it is back", async (t) => {
  countersign.on("POST /api/v1/door/runs", { status: 503, body: {} });
  const { asks, said } = scene(t, () => undefined);
  await asks.take(ASKED);
  await countersign.wait("POST /api/v1/door/runs", 2);
  countersign.on("POST /api/v1/door/runs", { status: 201, body: { run: "run_1" } });
  countersign.hold(ANSWER);
  await countersign.wait(ANSWER);
  assert.equal(said.length, 1);
  assert.match(said[0] ?? "", /cannot be reached/);
});

test("`opencode run` is said to reject by itself", async (t) => {
  const { asks, said } = scene(t, () => undefined, ["bun", "index.js", "run", "hello"]);
  await asks.take(ASKED);
  await asks.take(replied("reject"));
  const report = await countersign.wait(REPORT);
  assert.deepEqual(report.body, { outcome: "answered_here", reply: "reject" });
  assert.match(said[0] ?? "", /rejects every ask by itself/);
});

test("a question is answered and declined in opencode's own words", async (t) => {
  for (const [reply, path, body, event, word] of [
    [{ reply: "answers", answers: [["sqlite"]] }, "reply", { answers: [["sqlite"]] }, "replied", "replied"],
    [{ reply: "decline" }, "reject", {}, "rejected", "rejected"],
  ] as const) {
    countersign.forget();
    engine.forget();
    countersign.on(ANSWER, { status: 200, body: { state: "answered", reply } });
    engine.on("GET /question", { status: 200, body: [{ id: "que_1" }] });
    engine.on(`POST /question/que_1/${path}`, { status: 200, body: true });
    const { asks } = scene(t, () => undefined);
    await asks.take({
      type: "question.asked",
      properties: { id: "que_1", sessionID: "ses_1", questions: [{ question: "Which?" }] },
    });
    assert.deepEqual((await engine.wait(`POST /question/que_1/${path}`)).body, body);
    await asks.take({ type: `question.${event}`, properties: { requestID: "que_1" } });
    assert.deepEqual((await countersign.wait(REPORT)).body, { outcome: "announced", reply: word });
  }
});

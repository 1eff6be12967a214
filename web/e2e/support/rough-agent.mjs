/*
 * An ACP agent that says whatever its prompt says, line by line, as roughly as it likes:
 * `SAY {…}` says words, `CALLS n m` makes n tool calls, m of them a second, `LONG n` says n letters without a break,
 * `ASK {…}` asks for leave and waits for the answer, `ASKS n` asks for n things at once.
 */
import { createInterface } from "node:readline";

let session = "";
let asked = 0;
const answers = new Map();

/** Prints a line, and waits while nobody reads. */
function print(message) {
  return new Promise((done) => {
    if (process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)) done();
    else process.stdout.once("drain", done);
  });
}

const update = (change) => print({ method: "session/update", params: { sessionId: session, update: change } });
const say = (text) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

async function call(number) {
  const title = `call ${number} <img src=x onerror=alert(1)>`;
  await update({ sessionUpdate: "tool_call", toolCallId: `call-${session}-${number}`, title, kind: "read", status: "completed", rawInput: { command: title } });
}

async function calls(count, each) {
  const began = Date.now();
  for (let number = 0; number < count; number += 1) {
    await call(number);
    const early = began + (number * 1_000) / each - Date.now();
    if (early > 20) await pause(early);
  }
}

async function ask({ title, input }) {
  asked += 1;
  const id = `ask-${asked}`;
  const answered = new Promise((done) => answers.set(id, done));
  const toolCall = { toolCallId: `asked-${session}-${asked}`, title, kind: "execute", rawInput: input };
  const options = [
    { optionId: "yes", name: "Allow", kind: "allow_once" },
    { optionId: "no", name: "Reject", kind: "reject_once" },
  ];
  await print({ id, method: "session/request_permission", params: { sessionId: session, toolCall, options } });
  await answered;
}

async function perform(line) {
  const [word, ...rest] = line.split(" ");
  const argument = rest.join(" ");
  if (word === "SAY") await say(JSON.parse(argument));
  if (word === "CALLS") await calls(Number(rest[0]), Number(rest[1]));
  if (word === "ASK") await ask(JSON.parse(argument));
  if (word === "ASKS") {
    const wanted = Array.from({ length: Number(rest[0]) }, (_, at) => `echo thing-${at}`);
    await Promise.all(wanted.map((command) => ask({ title: command, input: { command } })));
  }
  if (word === "LONG") {
    for (let left = Number(rest[0]); left > 0; left -= 500_000) await say("x".repeat(Math.min(left, 500_000)));
  }
}

async function take(message) {
  const { id, method, params } = message;
  if (method === undefined) {
    answers.get(id)?.();
  } else if (method === "initialize") {
    await print({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
  } else if (method === "session/new") {
    session = `rough-${process.pid}`;
    await print({ id, result: { sessionId: session } });
  } else if (method === "session/prompt") {
    const text = params.prompt.map((part) => part.text ?? "").join("\n");
    for (const line of text.split("\n")) await perform(line.trim());
    await print({ id, result: { stopReason: "end_turn" } });
  } else if (id !== undefined) {
    await print({ id, error: { code: -32601, message: method } });
  }
}

createInterface({ input: process.stdin })
  .on("line", (line) => void take(JSON.parse(line)))
  .on("close", () => process.exit(0));

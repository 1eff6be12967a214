// opencode's SDK, told by lines of JSON on its standard input what to do; what comes of it is told in lines on its output.
//
//   {"id": 1, "call": "session.create", "with": [{…}]}   ->  {"id": 1, "status": 200, "body": …}
//   {"follow": 7}                                        ->  {"stream": 7, "event": …}, as they come
//   {"leave": 7}                                         the stream ends
//
// The module of the SDK, the address and the folder that is meant are its arguments; the token is in its environment.
import { createInterface } from "node:readline";

const [, , sdk, baseUrl, directory] = process.argv;
const { createOpencodeClient } = await import(sdk);
const client = createOpencodeClient({
  baseUrl,
  directory,
  headers: { Authorization: `Bearer ${process.env.TOKEN}` },
});

const streams = new Map();
const tell = (words) => process.stdout.write(`${JSON.stringify(words)}\n`);

async function call({ id, call: path, with: parameters = [] }) {
  const names = path.split(".");
  const method = names.pop();
  const holder = names.reduce((object, name) => object[name], client);
  try {
    const { data, error, response } = await holder[method](...parameters);
    tell({ id, status: response.status, body: data ?? error ?? null });
  } catch (error) {
    tell({ id, status: 0, body: String(error) });
  }
}

async function follow(number) {
  const leaving = new AbortController();
  streams.set(number, leaving);
  const options = { signal: leaving.signal, sseMaxRetryAttempts: 1 };
  // The two generations of the SDK differ in where they take options.
  const { stream } = await (sdk.includes("/v2/") ? client.event.subscribe({}, options) : client.event.subscribe(options));
  for await (const event of stream) tell({ stream: number, event });
  tell({ stream: number, event: { type: "ended" } });
}

for await (const line of createInterface({ input: process.stdin })) {
  const words = JSON.parse(line);
  if (words.call !== undefined) void call(words);
  else if (words.follow !== undefined) void follow(words.follow);
  else streams.get(words.leave)?.abort();
}
process.exit(0);

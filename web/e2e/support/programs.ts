/* The programs that the browser tests run against, and how one is started so that it cannot be left behind. */
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, openSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join, resolve } from "node:path";

/** How long a program may take to say that it is ready: a first start is slow, and the machine may be busy. */
const START_MS = 60_000;

const target = resolve(import.meta.dirname, "../../../target");

/** `countersign` itself; `COUNTERSIGN_BINARY` names another one. */
export const countersign = needed(
  resolve(process.env["COUNTERSIGN_BINARY"] ?? join(target, "debug/countersign")),
  "cargo build --package countersign",
);

/** The stub model, built beside `countersign`. */
export const stubModel = needed(
  join(dirname(countersign), "stub-model"),
  "cargo build --package countersign-testkit --bins",
);

/** The pinned opencode; `COUNTERSIGN_PEERS` names the folder of the peers. */
export const opencode = needed(
  join(resolve(process.env["COUNTERSIGN_PEERS"] ?? join(target, "peers")), "node_modules/opencode-1-18/bin/opencode"),
  "cargo xtask peers",
);

function needed(path: string, remedy: string): string {
  if (!existsSync(path)) throw new Error(`${path} is missing: run \`${remedy}\``);
  return path;
}

/** A program that runs; `line` is the one by which it said that it is ready. */
export interface Started {
  process: ChildProcess;
  line: string;
}

/** Starts a program and waits for the first line of its output that begins with `ready`. Its errors go to `log`. */
export async function start(
  program: string,
  parameters: readonly string[],
  options: { environment: Record<string, string>; directory: string; log: string; ready: string },
): Promise<Started> {
  const child = spawn(program, parameters, {
    cwd: options.directory,
    env: { PATH: process.env["PATH"] ?? "", ...options.environment },
    stdio: ["pipe", "pipe", openSync(options.log, "a")],
  });
  const line = await new Promise<string>((done, failed) => {
    const fail = (what: string) => failed(new Error(`${program} ${what}:\n${readFileSync(options.log, "utf8")}`));
    const timer = setTimeout(() => fail("was not ready in time"), START_MS);
    let output = "";
    child.stdout?.setEncoding("utf8").on("data", (piece: string) => {
      output += piece;
      const found = output.split("\n").slice(0, -1).find((each) => each.startsWith(options.ready));
      if (found === undefined) return;
      clearTimeout(timer);
      done(found);
    });
    child.once("error", failed);
    child.once("exit", (code, signal) => {
      clearTimeout(timer);
      fail(`ended with ${code ?? signal}`);
    });
  });
  return { process: child, line };
}

/** Sends a signal and waits for the end. */
export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((done) => child.once("exit", () => done()));
  child.kill(signal);
  await ended;
}

/** The processes whose environment holds `mark`: those that a test started, and whatever they started. */
export function marked(mark: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => environmentOf(pid).includes(mark))
    .map(Number);
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    // It has just ended, or is not ours.
    return "";
  }
}

/** A port that was free a moment ago, below those that engines get and that the system hands out by itself. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 8_000);
    const isFree = await new Promise<boolean>((done) => {
      const probe = createServer();
      probe.once("error", () => done(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => done(true)));
    });
    if (isFree) return port;
  }
}

/*
 * The whole program under test: `countersign serve` with a real opencode, whose model is a stub, on data of its own.
 *
 * It can be killed as a crash would kill it and started again on the same data. Nothing of it is left when it is stopped.
 */
import { execFile } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { offlineEnvironment } from "./offline-opencode.ts";
import { PrefixProxy } from "./prefix-proxy.ts";
import { countersign, end, freePort, marked, opencode, start, stubModel, type Started } from "./programs.ts";

/** What a server is told besides what every one is. */
export interface Configuration {
  /** More names under which browsers reach it. */
  hosts?: readonly string[];
  /** More lines of `[server]`. */
  server?: string;
  /** More tables. */
  tables?: string;
}

export type Role = "viewer" | "collaborator" | "approver" | "owner";


export class Server {
  readonly url: string;
  /** The folder in which the agent works. */
  readonly workspace: string;
  readonly #root: string;
  readonly #environment: Record<string, string>;
  readonly #parameters: string[];
  readonly #model: Started;
  readonly #proxy: PrefixProxy;
  #program: Started | undefined;

  private constructor(root: string, port: number, model: Started, proxy: PrefixProxy, others: readonly string[], more: Configuration) {
    this.url = `http://127.0.0.1:${port}`;
    this.#root = root;
    this.workspace = join(root, "garden");
    this.#model = model;
    this.#proxy = proxy;
    this.#environment = {
      ...offlineEnvironment(join(root, "home"), model.line),
      COUNTERSIGN_DATA: join(root, "data"),
      USER: "ada",
    };
    const config = join(root, "config.toml");
    const hosts = JSON.stringify([proxy.host, ...(more.hosts ?? [])]);
    const own = `[server]\npublic_hosts = ${hosts}\npublic_url = ${JSON.stringify(proxy.url)}\n${more.server ?? ""}[engine]\nprogram = ${JSON.stringify(opencode)}\n`;
    writeFileSync(config, own + (more.tables ?? ""));
    const folders = [this.workspace, ...others.map((name) => join(root, name))];
    for (const folder of folders) mkdirSync(folder, { recursive: true });
    const workspaces = folders.flatMap((folder) => ["--workspace", folder]);
    this.#parameters = ["serve", ...workspaces, "--port", String(port), "--config", config];
  }

  /** Starts everything and waits until the engines are ready; `others` are the names of more workspaces. */
  static async start(...others: string[]): Promise<Server> {
    return Server.startWith(() => ({}), ...others);
  }

  /** The same, with more in its configuration; what that is may depend on the port. */
  static async startWith(more: (port: number) => Configuration, ...others: string[]): Promise<Server> {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "countersign-e2e-")));
    const model = await start(stubModel, ["--requests", join(root, "requests.jsonl")], {
      environment: {},
      directory: root,
      log: join(root, "model.log"),
      ready: "http://",
    });
    const port = await freePort();
    const server = new Server(root, port, model, await PrefixProxy.start(port), others, more(port));
    await server.restart();
    return server;
  }

  /** Where the app is behind a proxy that serves the server under a path prefix. */
  get prefixedApp(): string {
    return `${this.#proxy.url}/app/`;
  }

  /** Kills the server alone, as a crash would; the engine lives on behind its keeper. */
  async kill(): Promise<void> {
    if (this.#program !== undefined) await end(this.#program.process, "SIGKILL");
  }

  /** Starts the server on the data that there is, and waits until its engine is ready. */
  async restart(): Promise<void> {
    this.#program = await start(countersign, this.#parameters, {
      environment: this.#environment,
      directory: this.#root,
      log: join(this.#root, "server.log"),
      ready: "countersign serves on ",
    });
    const token = await this.token("waiter", "viewer");
    await until("the engine is ready", async () => {
      const { workspaces } = await this.get<{ workspaces: { engine: { state: string } }[] }>("workspaces", token);
      return workspaces.every(({ engine }) => engine.state === "ready");
    });
  }

  /** Runs a command of the CLI with `--json` and returns what it printed. */
  async cli<T>(...parameters: string[]): Promise<T> {
    const env = { PATH: process.env["PATH"] ?? "", ...this.#environment };
    const { stdout } = await promisify(execFile)(countersign, [...parameters, "--json"], { env });
    return JSON.parse(stdout) as T;
  }

  /** A one-time link that lets a browser in. */
  async pairingLink(name: string, role: Role): Promise<string> {
    return (await this.cli<{ link: string }>("pair", "--name", name, "--role", role)).link;
  }

  /** A token for somebody who calls over HTTP. */
  async token(name: string, role: Role): Promise<string> {
    return (await this.cli<{ secret: string }>("token", "create", "--name", name, "--role", role)).secret;
  }

  /** Begins a session with an engine, and says something in it. */
  async begin(engine: string, text: string): Promise<string> {
    const token = await this.token("starter", "owner");
    const { id } = await this.post<{ id: string }>("sessions", { engine, title: engine }, token);
    await this.post(`sessions/${id}/prompt`, { text }, token);
    return id;
  }

  async post<T>(path: string, body: unknown, token: string): Promise<T> {
    const response = await fetch(`${this.url}/api/v1/${path}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  async get<T>(path: string, token: string): Promise<T> {
    const response = await fetch(`${this.url}/api/v1/${path}`, { headers: { Authorization: `Bearer ${token}` } });
    if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** Answers an ask over HTTP. */
  async answer(ask: string, answer: unknown, token: string): Promise<void> {
    const response = await fetch(`${this.url}/api/v1/asks/${ask}/answer`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify(answer),
    });
    if (!response.ok) throw new Error(`answering ${ask}: ${response.status} ${await response.text()}`);
  }

  /** Allows an ask at the engine itself, past the server, as only somebody can who has stolen its password. */
  async replyAtEngine(ask: string): Promise<void> {
    const { url, headers } = this.#engine();
    const { raw } = await this.get<{ raw: { id: string } }>(`asks/${ask}`, await this.token("thief", "viewer"));
    const response = await fetch(`${url}/permission/${raw.id}/reply`, {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/json" },
      body: JSON.stringify({ reply: "once" }),
    });
    if (!response.ok) throw new Error(`replying at the engine: ${response.status} ${await response.text()}`);
  }

  /** What the engine itself says under `path`. */
  async atEngine<T>(path: string): Promise<T> {
    const { url, headers } = this.#engine();
    const response = await fetch(`${url}${path}`, { headers });
    if (!response.ok) throw new Error(`GET ${path} of the engine: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** Where the engine is, and what it wants to see of whoever calls. */
  #engine(): { url: string; headers: Record<string, string> } {
    const runs = join(this.#root, "data/runs");
    const [run] = readdirSync(runs).map((name) => join(runs, name, "spec.json"));
    if (run === undefined) throw new Error("no engine is kept");
    const spec = JSON.parse(readFileSync(run, "utf8")) as { args: string[]; environment: Record<string, string> };
    const port = spec.args[spec.args.indexOf("--port") + 1];
    const password = spec.environment["OPENCODE_SERVER_PASSWORD"];
    return {
      url: `http://127.0.0.1:${port}`,
      headers: {
        Authorization: `Basic ${Buffer.from(`opencode:${password}`).toString("base64")}`,
        "x-opencode-directory": this.workspace,
      },
    };
  }

  /** Starts the server again with more in its configuration. */
  async configure(text: string): Promise<void> {
    appendFileSync(join(this.#root, "config.toml"), text);
    await this.kill();
    await this.restart();
  }

  /** Makes a folder that no workspace is yet. */
  folder(name: string): string {
    const path = join(this.#root, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  /** What a file of the workspace holds; nothing if it is not there. */
  file(name: string): string | undefined {
    const path = join(this.workspace, name);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  }

  writeFile(name: string, text: string): void {
    writeFileSync(join(this.workspace, name), text);
  }

  /** Whether the model was sent this text in any request so far. */
  modelWasSent(text: string): boolean {
    return readFileSync(join(this.#root, "requests.jsonl"), "utf8").includes(text);
  }

  /** Stops the server in order, then the model, and makes sure that nothing is left. */
  async stop(): Promise<void> {
    if (this.#program !== undefined) await end(this.#program.process, "SIGTERM");
    await end(this.#model.process, "SIGTERM");
    await this.#proxy.stop();
    const left = marked(this.#root);
    for (const pid of left) process.kill(pid, "SIGKILL");
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 5 });
    if (left.length > 0) throw new Error(`the server left processes behind: ${left.join(", ")}`);
  }
}

/** Waits for a condition, up to a deadline. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

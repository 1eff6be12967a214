/*
 * `countersign openwork-server` before a real opencode, whose model is a stub: what a person finds who comes with a
 * token of OpenWork's. Nothing of it is left when it is stopped.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { offlineEnvironment } from "./offline-opencode.ts";
import { countersign, end, freePort, marked, opencode, start, stubModel, type Started } from "./programs.ts";

const CLIENT = "client-token-123";
const HOST = "host-token-456";
const PASSWORD = "engine-password-789";

export class OpenWorkServer {
  readonly url: string;
  readonly #root: string;
  readonly #programs: Started[] = [];

  private constructor(root: string, port: number) {
    this.url = `http://127.0.0.1:${port}`;
    this.#root = root;
  }

  /** Starts the model, opencode and the server, in this order. */
  static async start(): Promise<OpenWorkServer> {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "countersign-e2e-")));
    const port = await freePort();
    const server = new OpenWorkServer(root, port);
    const garden = join(root, "garden");
    mkdirSync(garden);
    const model = await server.#run(stubModel, ["--requests", join(root, "requests.jsonl")], {}, "http://");
    const engine = `http://127.0.0.1:${await freePort()}`;
    const serve = ["serve", "--hostname", "127.0.0.1", "--port", new URL(engine).port];
    const home = offlineEnvironment(join(root, "home"), model.line);
    await server.#run(opencode, serve, { ...home, OPENCODE_SERVER_PASSWORD: PASSWORD }, "opencode server listening on ");
    const parameters = ["--port", String(port), "--workspace", garden];
    const engineParameters = ["--opencode-base-url", engine, "--opencode-username", "opencode"];
    await server.#run(
      countersign,
      ["openwork-server", ...parameters, ...engineParameters],
      {
        HOME: join(root, "home"),
        COUNTERSIGN_DATA: join(root, "data"),
        OPENWORK_TOKEN: CLIENT,
        OPENWORK_HOST_TOKEN: HOST,
        OPENWORK_OPENCODE_PASSWORD: PASSWORD,
      },
      "OpenWork server listening on ",
    );
    return server;
  }

  async #run(
    program: string,
    parameters: readonly string[],
    environment: Record<string, string>,
    ready: string,
  ): Promise<Started> {
    const log = join(this.#root, `${this.#programs.length}.log`);
    // The folder marks what belongs to it.
    const marks = { ...environment, COUNTERSIGN_E2E: this.#root };
    const directory = join(this.#root, "garden");
    const started = await start(program, parameters, { environment: marks, directory, log, ready });
    this.#programs.push(started);
    return started;
  }

  /** A token as OpenWork's server gives it out. */
  async token(scope: "viewer" | "collaborator" | "owner", label: string): Promise<string> {
    const issued = await this.#post<{ token: string }>("/tokens", { "X-OpenWork-Host-Token": HOST }, { scope, label });
    return issued.token;
  }

  /** A one-time link that lets a browser in, as an owner makes it. */
  async pairingLink(name: string, role: "viewer" | "collaborator"): Promise<string> {
    const owner = bearer(await this.token("owner", "Ada"));
    return (await this.#post<{ link: string }>("/api/v1/pairings", owner, { name, role })).link;
  }

  /** Begins a conversation through OpenWork's way to the engine; its lines direct the stub model. */
  async begin(...lines: string[]): Promise<void> {
    const { id } = await this.#post<{ id: string }>("/opencode/session", bearer(CLIENT), { title: "garden" });
    const parts = [{ type: "text", text: lines.join("\n") }];
    await this.#post(`/opencode/session/${id}/prompt_async`, bearer(CLIENT), { parts });
  }

  /** What a file of the workspace holds; nothing if it is not there. */
  file(name: string): string | undefined {
    const path = join(this.#root, "garden", name);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  }

  async #post<T>(path: string, headers: Record<string, string>, body: unknown): Promise<T> {
    const response = await fetch(`${this.url}${path}`, {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  /** Stops everything, what was started last first, and makes sure that nothing is left. */
  async stop(): Promise<void> {
    for (const program of this.#programs.toReversed()) await end(program.process, "SIGTERM");
    const left = marked(this.#root);
    for (const pid of left) process.kill(pid, "SIGKILL");
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 5 });
    if (left.length > 0) throw new Error(`the server left processes behind: ${left.join(", ")}`);
  }
}

/** The header that shows a token. */
export function bearer(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}` };
}

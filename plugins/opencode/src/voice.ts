/**
 * Says things to the person at the terminal without disturbing what is drawn there, and each thing once.
 */
import type { Client } from "./opencode.ts";

export class Voice {
  readonly #client: Client;
  readonly #surface: "tui" | "run" | "server";
  readonly #said = new Set<string>();

  constructor(client: Client, argv: readonly string[]) {
    this.#client = client;
    this.#surface = surfaceOf(argv);
  }

  /** Whether this is `opencode run`, which answers every ask by itself. */
  get answersByItself(): boolean {
    return this.#surface === "run";
  }

  /** Says `message`, unless it was said since the last `forget`. */
  say(message: string): void {
    if (this.#said.has(message)) return;
    this.#said.add(message);
    if (this.#surface === "tui") {
      const toast = { title: "Countersign", message, variant: "warning" as const };
      quietly(() => this.#client.tui?.showToast({ body: toast }));
    } else {
      console.error(`countersign: ${message}`);
    }
    const line = { service: "countersign", level: "warn" as const, message };
    quietly(() => this.#client.app?.log({ body: line }));
  }

  /** What was said about `message` has changed: it may be said again. */
  forget(message: string): void {
    this.#said.delete(message);
  }
}

function surfaceOf(argv: readonly string[]): "tui" | "run" | "server" {
  if (/\btui\b/.test(argv[1] ?? "")) return "tui";
  const command = argv.slice(2).find((argument) => !argument.startsWith("-"));
  if (command === "run") return "run";
  return command === "serve" || command === "web" || command === "acp" ? "server" : "tui";
}

function quietly(act: () => Promise<unknown> | undefined): void {
  try {
    act()?.catch(() => undefined);
  } catch {
    // Saying something is never worth a failure.
  }
}

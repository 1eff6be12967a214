/*
 * Reads things from the server, each one at a time.
 *
 * What changes while it is being read is read once more, and what could not be read is tried until it can:
 * an event is told once, so the reading that it made necessary must not get lost.
 */
import { ApiError } from "../api/client.ts";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

export class Reader {
  readonly #again = new Map<string, boolean>();
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Sees to it that `read` begins after this moment; `key` says what it reads. */
  want(key: string, read: () => Promise<void>): void {
    if (this.#again.has(key)) {
      this.#again.set(key, true);
      return;
    }
    void this.#run(key, read);
  }

  async #run(key: string, read: () => Promise<void>): Promise<void> {
    let pause = FIRST_PAUSE_MS;
    try {
      do {
        this.#again.set(key, false);
        try {
          await read();
          pause = FIRST_PAUSE_MS;
        } catch (error) {
          if (!isPassing(error)) throw error;
          this.#again.set(key, true);
          await new Promise((resolve) => setTimeout(resolve, pause));
          pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
        }
      } while (this.#again.get(key) === true && !this.#signal.aborted);
    } catch (error) {
      // What the server refuses is known by whoever asked; anything else is a mistake of ours and must be seen.
      if (!(error instanceof ApiError)) throw error;
    } finally {
      this.#again.delete(key);
    }
  }
}

/** Whether trying again may help. */
function isPassing(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500);
}

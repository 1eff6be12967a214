/*
 * The one connection over which the ledger tells what happens.
 *
 * It resumes after the last event that was seen, so that none is missed and none comes twice, and it counts
 * as lost when not even a heartbeat comes any more: a half-dead connection is noticed, not trusted.
 */
import { apiAddress } from "./base.ts";
import { pageKeyHeader } from "./page-key.ts";
import { ApiError, refusal } from "./client.ts";
import { frameReader, type Frame } from "./sse.ts";
import type { Delta, Event } from "./types.ts";

/** The server sends a heartbeat every 15 seconds; after two that did not come the connection is given up. */
const SILENCE_MS = 40_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

export interface Listener {
  /** The stream stands; everything that happens from now on will be told. */
  connected(): void;
  /** The place in the stream is unknown, as at the start: what is known has to be read anew. */
  reset(): void;
  event(event: Event): void;
  delta(delta: Delta): void;
  /** The connection is lost, and is being made again. */
  lost(): void;
  /** The server does not know this browser any more; the stream has ended for good. */
  refused(error: ApiError): void;
}

/** Connects and stays connected until `signal` says to stop. */
export async function followEvents(listener: Listener, signal: AbortSignal): Promise<void> {
  const place = new Place(listener);
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      await readStream(place, signal, () => {
        pause = FIRST_PAUSE_MS;
        listener.connected();
      });
    } catch (error) {
      if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
        listener.refused(error);
        return;
      }
    }
    if (signal.aborted) return;
    listener.lost();
    await sleep(pause * (0.75 + Math.random() / 2), signal);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

/** Where in the stream we are, and who is told. */
export class Place {
  readonly #listener: Listener;
  #seq: number | undefined;

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  /** The number of the last event that was told, once there is a place. */
  get seq(): number | undefined {
    return this.#seq;
  }

  take(frame: Frame): void {
    const { event, data } = frame;
    if (event === "delta") {
      this.#listener.delta(JSON.parse(data) as Delta);
    } else if (event === "hello") {
      // On a resumed stream the events up to the head that it names are still to come.
      if (this.#seq === undefined) this.#start(data);
    } else if (event === "reset") {
      this.#start(data);
    } else if (event === "goodbye") {
      // The server ends in order. The page waits for the next one, as after every break.
    } else {
      const told = JSON.parse(data) as Event;
      if (this.#seq !== undefined && told.seq <= this.#seq) return;
      this.#seq = told.seq;
      this.#listener.event(told);
    }
  }

  #start(data: string): void {
    this.#seq = (JSON.parse(data) as { seq: number }).seq;
    this.#listener.reset();
  }
}

async function readStream(place: Place, signal: AbortSignal, connected: () => void): Promise<void> {
  const silence = new AbortController();
  let watchdog = setTimeout(() => silence.abort(), SILENCE_MS);
  const path = place.seq === undefined ? "events" : `events?after=${place.seq}`;
  // A network that went away, or a laptop that slept, leaves connections that look alive.
  const wentOffline = () => silence.abort();
  addEventListener("offline", wentOffline);
  try {
    const response = await fetch(apiAddress(location.href, path), {
      headers: { Accept: "text/event-stream", ...pageKeyHeader() },
      credentials: "same-origin",
      cache: "no-store",
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (!response.ok) throw refusal(response.status, await response.text());
    if (response.body === null) throw new Error("the event stream has no body");
    connected();
    const read = frameReader();
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(watchdog);
      watchdog = setTimeout(() => silence.abort(), SILENCE_MS);
      for (const frame of read(decoder.decode(value, { stream: true }))) place.take(frame);
    }
  } finally {
    clearTimeout(watchdog);
    removeEventListener("offline", wentOffline);
    silence.abort();
  }
}

/** Waits, but not longer than until the network is back, the page is looked at again, or `signal` ends it. */
function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = new AbortController();
    const wake = () => {
      clearTimeout(timer);
      over.abort();
      resolve();
    };
    const timer = setTimeout(wake, milliseconds);
    addEventListener("online", wake, { signal: over.signal });
    document.addEventListener("visibilitychange", () => document.hidden || wake(), { signal: over.signal });
    signal.addEventListener("abort", wake, { signal: over.signal });
  });
}

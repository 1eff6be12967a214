/*
 * The app as something that is installed: its worker, the next version of it, and what a notification leads to.
 */
import { createSignal } from "solid-js";
import { goTo, parseRoute } from "../router.ts";
import { trusted } from "../trusted.ts";

const [isUpdateReady, setUpdateReady] = createSignal(false);
let waiting: ServiceWorker | undefined;

export {
  /** Whether a newer version of the app waits to be used. */
  isUpdateReady,
};

/** The worker's registration; nothing where the browser has no workers, as on a page without encryption. */
export const registration: Promise<ServiceWorkerRegistration | undefined> = register();

async function register(): Promise<ServiceWorkerRegistration | undefined> {
  const workers = (globalThis.navigator as Navigator | undefined)?.serviceWorker;
  if (workers === undefined || !import.meta.env.PROD) return undefined;
  workers.addEventListener("message", ({ data }: MessageEvent<unknown>) => follow(data));
  try {
    const found = await workers.register(trusted.createScriptURL("./sw.js"), { scope: "./", updateViaCache: "none" });
    watch(found, workers);
    return found;
  } catch {
    // It is a page without being an app, then.
    return undefined;
  }
}

/** Goes where a notification leads. */
function follow(data: unknown): void {
  if (typeof data !== "object" || data === null || !("goTo" in data) || typeof data.goTo !== "string") return;
  goTo(parseRoute(data.goTo));
}

function watch(found: ServiceWorkerRegistration, workers: ServiceWorkerContainer): void {
  const offer = (worker: ServiceWorker | null) => {
    // The first worker of all replaces nobody.
    if (worker === null || workers.controller === null) return;
    waiting = worker;
    setUpdateReady(true);
  };
  offer(found.waiting);
  found.addEventListener("updatefound", () => {
    const next = found.installing;
    next?.addEventListener("statechange", () => {
      if (next.state === "installed") offer(next);
    });
  });
}

/** Looks for a newer version: the server may have been replaced while it was away. */
export async function lookForUpdate(): Promise<void> {
  try {
    await (await registration)?.update();
  } catch {
    // The next time, then.
  }
}

/** Goes on with the newer version. */
export function takeUpdate(): void {
  navigator.serviceWorker.addEventListener("controllerchange", () => location.reload(), { once: true });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
  waiting?.postMessage("take over");
}

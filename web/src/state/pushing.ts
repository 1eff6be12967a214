/* Whether this browser is told of new asks while nobody looks, by Web Push. */
import { createSignal } from "solid-js";
import * as api from "../api/client.ts";
import { registration } from "./app-shell.ts";

/** `unable`: the browser cannot; `refused`: its user said no to notifications. */
export type Pushing = "unknown" | "unable" | "refused" | "off" | "on";

const [pushing, setPushing] = createSignal<Pushing>("unknown");

export { pushing };

async function manager(): Promise<PushManager | undefined> {
  if (!("PushManager" in globalThis) || !("Notification" in globalThis)) return undefined;
  return (await registration)?.pushManager;
}

/** Finds out how it stands, and tells the server again what the browser may have changed meanwhile. */
export async function learnPushing(): Promise<void> {
  const push = await manager();
  if (push === undefined) {
    setPushing("unable");
    return;
  }
  if (Notification.permission === "denied") {
    setPushing("refused");
    return;
  }
  const subscription = await push.getSubscription();
  if (subscription === null) {
    setPushing("off");
    return;
  }
  await api.subscribe(subscription.toJSON());
  setPushing("on");
}

/** Asks for leave to show notifications, and has this browser told. */
export async function startPushing(): Promise<void> {
  const push = await manager();
  if (push === undefined) return;
  if ((await Notification.requestPermission()) !== "granted") {
    setPushing("refused");
    return;
  }
  const { public_key } = await api.readPush();
  const subscription = await push.subscribe({ userVisibleOnly: true, applicationServerKey: public_key });
  await api.subscribe(subscription.toJSON());
  setPushing("on");
}

/** Has this browser told no more. */
export async function stopPushing(): Promise<void> {
  await api.unsubscribe();
  await forgetPushing();
  setPushing("off");
}

/** Ends the subscription in the browser: whoever signed out is told nothing. */
export async function forgetPushing(): Promise<void> {
  try {
    const push = await manager();
    await (await push?.getSubscription())?.unsubscribe();
  } catch {
    // The server has forgotten it, which is what counts.
  }
}

/** Takes the notification of an ask away that is over. */
export async function closeNotification(ask: string): Promise<void> {
  if (pushing() !== "on") return;
  const shown = await (await registration)?.getNotifications({ tag: ask });
  for (const notification of shown ?? []) notification.close();
}

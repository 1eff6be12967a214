/* The alarms that somebody at this browser has taken note of. */
import { createSignal } from "solid-js";

const KEY = "countersign.dismissed-alarms";
const [dismissed, setDismissed] = createSignal<ReadonlySet<string>>(new Set(stored()));

export const isDismissed = (alarm: string): boolean => dismissed().has(alarm);

export function dismiss(alarm: string): void {
  setDismissed(new Set([...dismissed(), alarm]));
  try {
    localStorage.setItem(KEY, JSON.stringify([...dismissed()]));
  } catch {
    // Without storage an alarm comes back with the next visit, which is the safe way round.
  }
}

function stored(): string[] {
  try {
    const read: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(read) ? read.filter((id): id is string => typeof id === "string") : [];
  } catch {
    return [];
  }
}

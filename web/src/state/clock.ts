/* The time, once a second, for whatever says how long something has been. Nothing is ever decided by it. */
import { createSignal } from "solid-js";

const [now, setNow] = createSignal(Date.now());
setInterval(() => setNow(Date.now()), 1000);

export { now };

/** Milliseconds since a point in time, growing. */
export function since(time: string): number {
  return now() - Date.parse(time);
}

/* The asks that somebody took out of their group, to answer them alone. */
import { createSignal } from "solid-js";

const [apart, set] = createSignal<ReadonlySet<string>>(new Set());

export { apart };

export function setApart(ask: string, isApart: boolean): void {
  set(isApart ? new Set([...apart(), ask]) : new Set([...apart()].filter((id) => id !== ask)));
}

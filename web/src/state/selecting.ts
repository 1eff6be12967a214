/* The asks that somebody has picked out to answer together. */
import { createSignal } from "solid-js";

const [selected, setSelected] = createSignal<ReadonlySet<string>>(new Set());
const [isSelecting, setSelecting] = createSignal(false);

export { isSelecting, selected };

export const isSelected = (asks: readonly string[]): boolean => asks.length > 0 && asks.every((ask) => selected().has(ask));

/** Picks all of these, or drops them if all are picked. */
export function toggle(asks: readonly string[]): void {
  setSelecting(true);
  setSelected(isSelected(asks) ? new Set([...selected()].filter((ask) => !asks.includes(ask))) : new Set([...selected(), ...asks]));
}

export function startSelecting(): void {
  setSelecting(true);
}

/** Drops everything, and puts the boxes away. */
export function stopSelecting(): void {
  setSelected(new Set<string>());
  setSelecting(false);
}

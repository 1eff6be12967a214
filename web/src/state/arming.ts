/*
 * Holds the buttons of an ask back for a moment after it is first shown, so that a click or a key that was
 * meant for what was there before does not answer it.
 */
import { createEffect, createSignal, onCleanup, type Accessor } from "solid-js";

const ARM_DELAY_MS = 400;
const firstShown = new Map<string, number>();

/** Milliseconds until an ask that was first shown at `first` takes an answer. */
export function armsIn(first: number, now: number): number {
  return Math.max(0, first + ARM_DELAY_MS - now);
}

/** Whether what is shown, by its name, takes answers by now. */
export function createArmed(shown: Accessor<string>): Accessor<boolean> {
  const [armed, setArmed] = createSignal(false);
  createEffect(() => {
    const first = firstShown.get(shown()) ?? performance.now();
    firstShown.set(shown(), first);
    const left = armsIn(first, performance.now());
    setArmed(left === 0);
    if (left === 0) return;
    const timer = setTimeout(() => setArmed(true), left);
    onCleanup(() => clearTimeout(timer));
  });
  return armed;
}

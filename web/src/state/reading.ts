/* Something that is read from the server when it is wanted, and again when something changes. */
import { createEffect, createSignal, on, onCleanup, type Accessor } from "solid-js";
import { sentenceOf } from "../api/client.ts";

export interface Reading<T> {
  /** What was read last; it stays while it is read again. */
  value: Accessor<T | undefined>;
  problem: Accessor<string | undefined>;
  isReading: Accessor<boolean>;
  again: () => Promise<void>;
}

/** Reads now, and whenever what `of` returns is another; the later of two readings counts. */
export function createReading<S, T>(of: () => S, read: (of: S) => Promise<T>): Reading<T> {
  const [value, setValue] = createSignal<T>();
  const [problem, setProblem] = createSignal<string>();
  const [isReading, setReading] = createSignal(true);
  let newest = 0;
  const look = async (from: S) => {
    newest += 1;
    const own = newest;
    setReading(true);
    try {
      const found = await read(from);
      if (own !== newest) return;
      setValue(() => found);
      setProblem(undefined);
    } catch (error) {
      if (own === newest) setProblem(sentenceOf(error));
    } finally {
      if (own === newest) setReading(false);
    }
  };
  createEffect(on(of, (from) => void look(from)));
  onCleanup(() => {
    newest += 1;
  });
  return { value, problem, isReading, again: () => look(of()) };
}

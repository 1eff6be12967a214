/* What whoever sits at this browser wishes: kept here and nowhere else. */
import { createSignal } from "solid-js";

export const THEMES = ["system", "light", "dark"] as const;
/** Seconds in which an answer can be taken back before it is sent. */
export const UNDO_WINDOWS = [0, 5, 10, 30] as const;
/** Minutes after which an ask that waits is brought to mind, and again after as many. */
export const REMINDERS = [0, 5, 15, 60] as const;
/** Whether single letters do something: who speaks to the machine, or shakes, may not want that. */
export const KEY_CHOICES = ["on", "off"] as const;
export const DIFF_LAYOUTS = ["inline", "split"] as const;
/** Seconds within which an ask should be answered. */
export const TARGETS = [60, 300, 900, 3600, 28_800] as const;

export const JOB_LAYOUTS = ["board", "list"] as const;

export interface Preferences {
  theme: (typeof THEMES)[number];
  undo: (typeof UNDO_WINDOWS)[number];
  remind: (typeof REMINDERS)[number];
  keys: (typeof KEY_CHOICES)[number];
  diff: (typeof DIFF_LAYOUTS)[number];
  target: (typeof TARGETS)[number];
  jobs: (typeof JOB_LAYOUTS)[number];
}

export const DEFAULTS: Preferences = { theme: "system", undo: 0, remind: 0, keys: "on", diff: "inline", target: 300, jobs: "board" };

const KEY = "countersign.preferences";
const [preferences, setPreferences] = createSignal(stored());

export { preferences };

export function prefer(change: Partial<Preferences>): void {
  setPreferences({ ...preferences(), ...change });
  try {
    localStorage.setItem(KEY, JSON.stringify(preferences()));
  } catch {
    // Without storage a wish holds until the page is closed.
  }
}

/** What was kept; whatever cannot be read, or is no choice any more, is as it is at first. */
export function readPreferences(kept: string | null): Preferences {
  let found: Partial<Record<keyof Preferences, unknown>> = {};
  try {
    const read: unknown = JSON.parse(kept ?? "{}");
    if (typeof read === "object" && read !== null) found = read;
  } catch {
    // Somebody else wrote there.
  }
  const one = <T>(choices: readonly T[], value: unknown, otherwise: T): T => choices.find((choice) => choice === value) ?? otherwise;
  return {
    theme: one(THEMES, found.theme, DEFAULTS.theme),
    undo: one(UNDO_WINDOWS, found.undo, DEFAULTS.undo),
    remind: one(REMINDERS, found.remind, DEFAULTS.remind),
    keys: one(KEY_CHOICES, found.keys, DEFAULTS.keys),
    diff: one(DIFF_LAYOUTS, found.diff, DEFAULTS.diff),
    target: one(TARGETS, found.target, DEFAULTS.target),
    jobs: one(JOB_LAYOUTS, found.jobs, DEFAULTS.jobs),
  };
}

function stored(): Preferences {
  try {
    return readPreferences(localStorage.getItem(KEY));
  } catch {
    return DEFAULTS;
  }
}

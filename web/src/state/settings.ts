/* What is set for a session, as it is read again and again while an agent works. Pure. */
import type { SettingsView } from "../api/types.ts";

/** What was read, with the same values where nothing changed: a picker that somebody has open stays as it is. */
export function sameParts(known: SettingsView | undefined, view: SettingsView): SettingsView {
  if (known === undefined) return view;
  const same = <Key extends keyof SettingsView>(key: Key) => JSON.stringify(known[key]) === JSON.stringify(view[key]);
  const kept: Partial<SettingsView> = {};
  if (same("mode") && known.mode !== undefined) kept.mode = known.mode;
  if (same("model") && known.model !== undefined) kept.model = known.model;
  if (same("options")) kept.options = known.options;
  if (same("commands")) kept.commands = known.commands;
  return { ...view, ...kept };
}

/**
 * The plugin that opencode loads. It is the only export: opencode takes every export of this file for a plugin.
 */
import { Asks } from "./asks.ts";
import { Door } from "./door.ts";
import { Opencode } from "./opencode.ts";
import type { Hooks, PluginContext } from "./opencode.ts";
import { readSettings } from "./settings.ts";
import { Voice } from "./voice.ts";

export const Countersign = async (context: PluginContext): Promise<Hooks> => {
  const voice = new Voice(context.client, process.argv);
  const settings = await readSettings(process.env);
  if ("problem" in settings) {
    voice.say(settings.problem);
    return {};
  }
  const opencode = new Opencode(context, process.env);
  const door = new Door(settings, opencode, process.pid);
  const asks = new Asks(door, opencode, voice);
  return asks.hooks();
};

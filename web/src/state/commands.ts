/* The agent's commands while a prompt is being written: which ones fit, and which one a key means. Pure. */
import type { SlashCommand } from "../api/types.ts";

/** How many are offered at a time. */
const SHOWN = 8;

/** The commands that what was written could become. One that is written already is none of them. */
export function fitting(commands: readonly SlashCommand[], text: string): SlashCommand[] {
  if (!text.startsWith("/") || text.includes("\n")) return [];
  const begun = text.slice(1).toLowerCase();
  return commands.filter(({ name }) => name.toLowerCase().startsWith(begun) && name.toLowerCase() !== begun.trimEnd()).slice(0, SHOWN);
}

/** The prompt that begins with a command. */
export function withCommand(command: SlashCommand): string {
  return `/${command.name} `;
}

/** Which of `count` commands is meant at first: none if what was written is a whole command, for Enter sends it. */
export function firstMeant(commands: readonly SlashCommand[], text: string): number {
  return commands.some(({ name }) => `/${name}`.toLowerCase() === text.trimEnd().toLowerCase()) ? -1 : 0;
}

export type Step = { do: "move"; to: number } | { do: "take"; which: number } | { do: "close" };

/** What a key does while `count` commands are offered and the one at `meant` is meant; nothing if it is not theirs. */
export function stepOf(key: string, meant: number, count: number): Step | undefined {
  if (count === 0) return undefined;
  switch (key) {
    case "ArrowDown":
      return { do: "move", to: (meant + 1) % count };
    case "ArrowUp":
      return { do: "move", to: meant <= 0 ? count - 1 : meant - 1 };
    case "Enter":
    case "Tab":
      return meant < 0 ? undefined : { do: "take", which: meant };
    case "Escape":
      return { do: "close" };
    default:
      return undefined;
  }
}

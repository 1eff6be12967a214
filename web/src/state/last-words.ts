/* What was said right before an ask: what the agent was told, and what it said last. Pure. */
import type { SpokenItem, TranscriptItem } from "../api/types.ts";
import { isSpoken } from "./transcript.ts";

export interface LastWords {
  prompt?: SpokenItem;
  agent?: SpokenItem;
}

/** The last prompt up to a moment, and the agent's last words after it. */
export function lastWordsOf(items: readonly TranscriptItem[], until: string): LastWords {
  const before = items.filter((item) => item.at <= until).filter(isSpoken);
  const prompt = before.findLast((item) => item.kind === "prompt");
  const agent = before.findLast((item) => item.kind === "text" && item.text.trim() !== "" && item.seq > (prompt?.seq ?? 0));
  return { ...(prompt === undefined ? {} : { prompt }), ...(agent === undefined ? {} : { agent }) };
}

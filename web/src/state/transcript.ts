/*
 * A session's transcript as it grows. Pure: values in, values out.
 *
 * Words are shown as they are said; what the ledger has written down takes their place.
 */
import type { Delta, TranscriptItem } from "../api/types.ts";

export interface Transcript {
  /** What was read, in order. */
  items: readonly TranscriptItem[];
  /** What is being said and was not read yet, by the engine's name for it. */
  live: Readonly<Record<string, { thought: boolean; text: string }>>;
}

export const SILENT: Transcript = { items: [], live: {} };

/** The transcript with more words. */
export function withDelta(transcript: Transcript, delta: Delta): Transcript {
  const at = transcript.items.findLastIndex((item) => item.native_id === delta.item && item.kind !== "tool");
  const grown = transcript.items[at];
  if (grown !== undefined && grown.kind !== "tool") {
    return { ...transcript, items: transcript.items.with(at, { ...grown, text: grown.text + delta.text }) };
  }
  const said = transcript.live[delta.item]?.text ?? "";
  return {
    ...transcript,
    live: { ...transcript.live, [delta.item]: { thought: delta.thought, text: said + delta.text } },
  };
}

/**
 * The transcript with items as they were read because the one at `written` was written down.
 *
 * Behind it may come one that is still being said. Of that one more may have been heard than was read, and
 * what was heard is not unsaid.
 */
export function withItems(transcript: Transcript, read: readonly TranscriptItem[], written: number): Transcript {
  const items = new Map(transcript.items.map((item) => [item.seq, item]));
  const live = { ...transcript.live };
  for (const item of read) {
    const known = items.get(item.seq);
    const same = known !== undefined && known.native_id === item.native_id && known.kind !== "tool";
    const heard = same ? known.text : live[item.native_id]?.text;
    const ahead = item.seq > written && item.kind !== "tool" && heard !== undefined && heard.startsWith(item.text);
    items.set(item.seq, ahead ? { ...item, text: heard } : item);
    delete live[item.native_id];
  }
  return { items: [...items.values()].toSorted((a, b) => a.seq - b.seq), live };
}

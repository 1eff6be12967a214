/*
 * A session's transcript as it grows. Pure: values in, values out.
 *
 * Words are shown as they are said; what the ledger has written down takes their place.
 */
import type { Delta, SpokenItem, TranscriptItem } from "../api/types.ts";

export interface Transcript {
  /** What was read, in order. */
  items: readonly TranscriptItem[];
  /** What is being said and was not read yet, by the engine's name for it. */
  live: Readonly<Record<string, { thought: boolean; text: string; points?: number }>>;
}

export const SILENT: Transcript = { items: [], live: {} };

/** Whether a piece is words. */
export const isSpoken = (item: TranscriptItem): item is SpokenItem => "text" in item;

/** The transcript with more words, or nothing if words between those known and these were missed. */
export function withDelta(transcript: Transcript, delta: Delta): Transcript | undefined {
  const at = transcript.items.findLastIndex((item) => item.native_id === delta.item && isSpoken(item));
  const known = transcript.items[at];
  if (known !== undefined && isSpoken(known)) {
    const text = grown(known.text, delta);
    return text === undefined ? undefined : { ...transcript, items: transcript.items.with(at, { ...known, text }) };
  }
  const heard = transcript.live[delta.item];
  const points = heard?.points ?? pointsIn(heard?.text ?? "");
  const text = grown(heard?.text ?? "", delta, points);
  if (text === undefined) return undefined;
  const more = Math.max(points, delta.offset + pointsIn(delta.text));
  return { ...transcript, live: { ...transcript.live, [delta.item]: { thought: delta.thought, text, points: more } } };
}

/** Deltas that go on where the one before them ended, as one. */
export function joined(deltas: readonly Delta[]): Delta[] {
  const found: { delta: Delta; pieces: string[]; end: number }[] = [];
  for (const delta of deltas) {
    const last = found.at(-1);
    const same = last !== undefined && last.delta.session === delta.session && last.delta.item === delta.item;
    const end = delta.offset + pointsIn(delta.text);
    if (same && last.end === delta.offset && last.delta.thought === delta.thought) {
      last.pieces.push(delta.text);
      last.end = end;
    } else {
      found.push({ delta, pieces: [delta.text], end });
    }
  }
  return found.map(({ delta, pieces }) => ({ ...delta, text: pieces.join("") }));
}

/** The newest of them, so many: a page that is open for days holds no more. */
export function newest(transcript: Transcript, most: number): Transcript {
  return transcript.items.length <= most ? transcript : { ...transcript, items: transcript.items.slice(-most) };
}

/** How many characters a text has, as the server counts them. */
function pointsIn(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** A delta may come after a reading that had some or all of it. */
function grown(heard: string, delta: Delta, known = pointsIn(heard)): string | undefined {
  if (known < delta.offset) return undefined;
  if (known === delta.offset) return heard + delta.text;
  return heard + [...delta.text].slice(known - delta.offset).join("");
}

/**
 * The transcript with items as they were read because the one at `written` was written down.
 *
 * Behind it may come one that is still being said. Of that one more may have been heard than was read, and
 * what was heard is not unsaid.
 */
export function withItems(transcript: Transcript, read: readonly TranscriptItem[], written: number): Transcript {
  const appended = onlyNew(transcript, read);
  if (appended !== undefined) return appended;
  const items = new Map(transcript.items.map((item) => [item.seq, item]));
  const live = { ...transcript.live };
  const places = new Map(transcript.items.map((item) => [item.native_id, item.seq]));
  for (const item of read) {
    // What was still being said when it was read may have got another place since.
    const before = places.get(item.native_id) ?? item.seq;
    const known = items.get(before);
    if (before !== item.seq && known?.native_id === item.native_id) items.delete(before);
    const same = known !== undefined && known.native_id === item.native_id && isSpoken(known);
    const heard = same ? known.text : live[item.native_id]?.text;
    const ahead = item.seq > written && isSpoken(item) && heard !== undefined && heard.startsWith(item.text);
    items.set(item.seq, ahead ? { ...item, text: heard } : item);
    delete live[item.native_id];
  }
  return { items: [...items.values()].toSorted((a, b) => a.seq - b.seq), live };
}

/** The transcript with items that all come after it and were not heard of before, as most do; nothing if they are not. */
function onlyNew(transcript: Transcript, read: readonly TranscriptItem[]): Transcript | undefined {
  const last = transcript.items.at(-1)?.seq ?? 0;
  const isNew = read.every((item, at) => item.seq > (read[at - 1]?.seq ?? last) && transcript.live[item.native_id] === undefined);
  if (!isNew) return undefined;
  const known = new Set(transcript.items.map((item) => item.native_id));
  return read.some((item) => known.has(item.native_id)) ? undefined : { ...transcript, items: [...transcript.items, ...read] };
}

/** From where a piece has to be read: its place, or the end. */
export function placeOf(transcript: Transcript, piece: string): number {
  const known = transcript.items.findLast((item) => item.native_id === piece);
  return known?.seq ?? (transcript.items.at(-1)?.seq ?? 0) + 1;
}

/*
 * Makes what cannot be seen visible, so that what a person reads is what will run.
 *
 * Control, zero-width and bidirectional characters can hide or reorder text. They are shown by their code
 * point; tabs and line breaks stay as they are. The same table as `visible.rs` in the core.
 */

const DECEPTIVE = new RegExp(
  [
    "[",
    String.raw`\u{0000}-\u{0008}\u{000B}-\u{001F}\u{007F}-\u{009F}`, // control, but for tab and line feed
    String.raw`\u{00AD}`, // soft hyphen
    String.raw`\u{034F}`, // combining grapheme joiner
    String.raw`\u{061C}`, // Arabic letter mark
    String.raw`\u{115F}\u{1160}\u{3164}\u{FFA0}`, // Hangul fillers
    String.raw`\u{17B4}\u{17B5}`,
    String.raw`\u{180B}-\u{180F}`,
    String.raw`\u{200B}-\u{200F}`, // zero width, directional marks
    String.raw`\u{2028}-\u{202E}`, // separators, bidirectional embedding and override
    String.raw`\u{2060}-\u{206F}`, // joiners, isolates
    String.raw`\u{FE00}-\u{FE0F}`, // variation selectors
    String.raw`\u{FEFF}`,
    String.raw`\u{FFF0}-\u{FFFB}`,
    String.raw`\u{1D173}-\u{1D17A}`,
    String.raw`\u{E0000}-\u{E0FFF}`, // tags
    // Blanks that are not a blank to a shell.
    String.raw`\u{00A0}\u{1680}\u{2000}-\u{200A}\u{202F}\u{205F}\u{3000}`,
    // Half of a pair: no character at all.
    String.raw`\p{Surrogate}`,
    "]",
  ].join(""),
  "u",
);
const EVERY = new RegExp(DECEPTIVE.source, "gu");

/** How many deceptive characters a text has. */
export function deceptiveIn(text: string): number {
  let count = 0;
  for (const _ of text.matchAll(EVERY)) count += 1;
  return count;
}

/** A stretch of text as it is, or one deceptive character by its code point. */
export interface Segment {
  text: string;
  deceptive: boolean;
}

/** The text in stretches, with every deceptive character apart and written as `⟨U+202E⟩`. */
export function segments(text: string): Segment[] {
  if (!DECEPTIVE.test(text)) return text === "" ? [] : [{ text, deceptive: false }];
  const found: Segment[] = [];
  let plain = "";
  for (const character of text) {
    if (!DECEPTIVE.test(character)) {
      plain += character;
      continue;
    }
    if (plain !== "") found.push({ text: plain, deceptive: false });
    plain = "";
    found.push({ text: codePoint(character), deceptive: true });
  }
  if (plain !== "") found.push({ text: plain, deceptive: false });
  return found;
}

/** The text with every deceptive character written as `⟨U+202E⟩`. */
export function visible(text: string): string {
  return segments(text)
    .map((segment) => segment.text)
    .join("");
}

function codePoint(character: string): string {
  const number = character.codePointAt(0) ?? 0;
  return `⟨U+${number.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

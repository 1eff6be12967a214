import { expect, test } from "vitest";
import { deceptiveIn, segments, visible } from "./visible.ts";

test("what hides or reorders is written out", () => {
  expect(visible("rm\u{200B} -rf")).toBe("rm⟨U+200B⟩ -rf");
  expect(visible("a\u{202E}b")).toBe("a⟨U+202E⟩b");
  expect(visible("\u{1b}[2K")).toBe("⟨U+001B⟩[2K");
  expect(visible("line\r\nnext\tcolumn")).toBe("line⟨U+000D⟩\nnext\tcolumn");
  expect(visible("grüße, 世界 🙂")).toBe("grüße, 世界 🙂");
});

test("the edges of every range are written out, and their neighbours are not", () => {
  const ranges = [
    [0x00, 0x08], [0x0b, 0x1f], [0x7f, 0xa0], [0xad, 0xad], [0x34f, 0x34f], [0x61c, 0x61c], [0x115f, 0x1160],
    [0x1680, 0x1680], [0x17b4, 0x17b5], [0x180b, 0x180f], [0x2000, 0x200f], [0x2028, 0x202f], [0x205f, 0x206f],
    [0x3000, 0x3000], [0x3164, 0x3164], [0xfe00, 0xfe0f], [0xfeff, 0xfeff], [0xffa0, 0xffa0], [0xfff0, 0xfffb],
    [0x1d173, 0x1d17a], [0xe0000, 0xe0fff],
  ] as const;
  const edges = ranges.flat().map((point) => visible(String.fromCodePoint(point)));
  for (const shown of edges) expect(shown).toMatch(/^⟨U\+[0-9A-F]{4,6}⟩$/);
  const neighbours = ranges.flatMap(([first, last]) => [first - 1, last + 1]).filter((point) => point >= 0);
  for (const neighbour of neighbours.map((point) => String.fromCodePoint(point))) expect(visible(neighbour)).toBe(neighbour);
});

test("half of a surrogate pair does not pass as text", () => {
  expect(visible("a\u{D83D}b")).toBe("a⟨U+D83D⟩b");
});

test("only the deceptive characters are marked", () => {
  expect(segments("ls\u{200B}\u{200B} -l")).toEqual([
    { text: "ls", deceptive: false },
    { text: "⟨U+200B⟩", deceptive: true },
    { text: "⟨U+200B⟩", deceptive: true },
    { text: " -l", deceptive: false },
  ]);
  expect(segments("")).toEqual([]);
});

test("deceptive characters are counted without taking the text apart", () => {
  const text = `a\u202Eb\u200B${"x".repeat(1_000_000)}\uD800`;
  expect(deceptiveIn(text)).toBe(segments(text).filter((segment) => segment.deceptive).length);
  expect(deceptiveIn("plain")).toBe(0);
});

/* What is drawn is read by a program that knows nothing of ours. */
import jsQR from "jsqr";
import { expect, test } from "vitest";
import { correctionOf, multiply } from "./correction.ts";
import { qrCode } from "./code.ts";

const QUIET = 4;

/** What an independent reader reads in the code of `text`, drawn `scale` points large, with `spoil` points of it wrong. */
function readBack(text: string, scale = 3, spoil: (x: number, y: number) => boolean = () => false): string | undefined {
  const rows = qrCode(text);
  if (rows === undefined) return undefined;
  const size = (rows.length + 2 * QUIET) * scale;
  const points = new Uint8ClampedArray(size * size * 4).fill(255);
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      const [column, row] = [Math.floor(x / scale) - QUIET, Math.floor(y / scale) - QUIET];
      const isDark = (rows[row]?.[column] ?? false) !== spoil(column, row);
      if (isDark) points.fill(0, (y * size + x) * 4, (y * size + x) * 4 + 3);
    }
  }
  return jsQR(points, size, size)?.data;
}

test("links of every length are read back as they are", () => {
  const digits = "0123456789abcdef";
  for (let length = 1; length <= 660; length += length < 180 ? 6 : 41) {
    const text = Array.from({ length }, (_, at) => digits[(at * 7 + length) % 16]).join("");
    expect({ length, read: readBack(text) }).toEqual({ length, read: text });
  }
});

test("a pairing link is read back, on a bad day too", () => {
  const link = `https://countersign.example:8443/agents/app/#pair=${"0f".repeat(32)}`;
  expect(readBack(link)).toBe(link);
  expect(readBack(link, 2)).toBe(link);
  // A stain over a corner of the data.
  expect(readBack(link, 3, (x, y) => x > 30 && x < 36 && y > 30 && y < 34)).toBe(link);
  expect(readBack("Grüße, 世界 🌍")).toBe("Grüße, 世界 🌍");
});

test("what is too long has no code", () => {
  expect(qrCode("x".repeat(700))).toBeUndefined();
  expect(qrCode("")).toHaveLength(21);
});

test("the code of a known text is the one that the standard's annex shows", () => {
  // `01234567` in the annex is numeric; the correction of its bytes is what both have in common.
  expect(correctionOf([0x10, 0x20, 0x0c, 0x56, 0x61, 0x80, 0xec, 0x11, 0xec, 0x11, 0xec, 0x11, 0xec, 0x11, 0xec, 0x11], 10)).toEqual([
    0xa5, 0x24, 0xd4, 0xc1, 0xed, 0x36, 0xc7, 0x87, 0x2c, 0x55,
  ]);
  expect(multiply(0x02, 0x80)).toBe(0x1d);
});

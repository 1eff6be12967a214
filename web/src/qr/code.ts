/*
 * Draws a text as a QR code (ISO/IEC 18004): bytes, of the medium strength of correction, as small as it can be. Pure.
 *
 * It is made here, in the page, because the link that it shows opens the door: no other place gets to know it, and no
 * picture of it is ever sent.
 */
import { correctionOf } from "./correction.ts";
import { drawMask, emptySquare, room, type Square } from "./layout.ts";

/** How many bytes correct each block, by version from one on. */
const CORRECTION = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26] as const;
/** In how many blocks the data is. */
const BLOCKS = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16] as const;

/** Which modules a mask turns over. */
const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** The rows of a QR code, dark modules being `true`; nothing if the text is too long. */
export function qrCode(text: string): boolean[][] | undefined {
  const bytes = [...new TextEncoder().encode(text)];
  const version = versionFor(bytes.length);
  if (version === undefined) return undefined;
  const codewords = interleave(pad(bytes, version), version);
  let best: { square: Square; penalty: number } | undefined;
  MASKS.forEach((turnsOver, mask) => {
    const square = emptySquare(version);
    drawMask(square, mask);
    write(square, codewords, turnsOver);
    const penalty = penaltyOf(square);
    if (best === undefined || penalty < best.penalty) best = { square, penalty };
  });
  if (best === undefined) return undefined;
  const { square } = best;
  const along = Array.from({ length: square.size }, (_, at) => at);
  return along.map((y) => along.map((x) => square.isDark(x, y)));
}

/** How many bytes of data a version holds, with those that say how many there are. */
function capacity(version: number): number {
  return Math.floor(room(version) / 8) - (CORRECTION[version - 1] ?? 0) * (BLOCKS[version - 1] ?? 0);
}

/** The bits of how many bytes there are. */
function lengthBits(version: number): number {
  return version < 10 ? 8 : 16;
}

function versionFor(length: number): number | undefined {
  const versions = CORRECTION.map((_, index) => index + 1);
  return versions.find((version) => 4 + lengthBits(version) + 8 * length <= 8 * capacity(version));
}

/** What stands in the code: that it is bytes, how many, the bytes, and what fills the room that is left. */
function pad(bytes: readonly number[], version: number): number[] {
  const bits: number[] = [];
  const add = (value: number, length: number) => {
    for (let bit = length - 1; bit >= 0; bit -= 1) bits.push((value >>> bit) & 1);
  };
  add(0b0100, 4);
  add(bytes.length, lengthBits(version));
  for (const byte of bytes) add(byte, 8);
  const most = 8 * capacity(version);
  add(0, Math.min(4, most - bits.length));
  add(0, (8 - (bits.length % 8)) % 8);
  for (let filler = 0xec; bits.length < most; filler ^= 0xec ^ 0x11) add(filler, 8);
  return Array.from({ length: most / 8 }, (_, at) => bits.slice(at * 8, at * 8 + 8).reduce((byte, bit) => (byte << 1) | bit, 0));
}

/** Blocks with what corrects them, one byte of each in turn. */
function interleave(data: readonly number[], version: number): number[] {
  const count = BLOCKS[version - 1] ?? 1;
  const length = CORRECTION[version - 1] ?? 0;
  const short = Math.floor(data.length / count);
  const shortOnes = count - (data.length % count);
  let from = 0;
  const blocks = Array.from({ length: count }, (_, at) => {
    const block = data.slice(from, from + short + (at < shortOnes ? 0 : 1));
    from += block.length;
    return { block, correction: correctionOf(block, length) };
  });
  const inTurn = (most: number, of: (at: number) => (number | undefined)[]) =>
    Array.from({ length: most }, (_, at) => of(at).filter((byte) => byte !== undefined)).flat();
  return [
    ...inTurn(short + 1, (at) => blocks.map(({ block }) => block[at])),
    ...inTurn(length, (at) => blocks.map(({ correction }) => correction[at])),
  ];
}

/** Writes the bytes in columns of two from the right, up and down, and turns over what the mask says. */
function write(square: Square, codewords: readonly number[], turnsOver: (x: number, y: number) => boolean): void {
  const { size } = square;
  let at = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    // The column of the clock is left out.
    if (right === 6) right = 5;
    const isUpward = ((right + 1) & 2) === 0;
    for (let step = 0; step < size; step += 1) {
      const y = isUpward ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (square.isFixed(x, y)) continue;
        const bit = ((codewords[at >>> 3] ?? 0) >>> (7 - (at & 7))) & 1;
        at += 1;
        square.set(x, y, (bit === 1) !== turnsOver(x, y));
      }
    }
  }
}

/** How hard a code is to read: long runs, squares, what looks like its corners, and too much of one colour. */
function penaltyOf(square: Square): number {
  const { size } = square;
  const along = Array.from({ length: size }, (_, at) => at);
  const lines = along.flatMap((at) => [along.map((x) => square.isDark(x, at)), along.map((y) => square.isDark(at, y))]);
  let penalty = 0;
  for (const line of lines) {
    const text = line.map((isDark) => (isDark ? "1" : "0")).join("");
    for (const run of text.match(/1{5,}|0{5,}/g) ?? []) penalty += run.length - 2;
    for (const corner of ["10111010000", "00001011101"]) penalty += 40 * timesIn(text, corner);
  }
  let dark = 0;
  for (const y of along) {
    for (const x of along) {
      const isDark = square.isDark(x, y);
      if (isDark) dark += 1;
      if (x === 0 || y === 0) continue;
      if (square.isDark(x - 1, y) === isDark && square.isDark(x, y - 1) === isDark && square.isDark(x - 1, y - 1) === isDark) penalty += 3;
    }
  }
  return penalty + 10 * Math.floor(Math.abs((dark * 20) / size ** 2 - 10));
}

/** How often `part` is in `text`, over itself too. */
function timesIn(text: string, part: string): number {
  let times = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) times += 1;
  return times;
}

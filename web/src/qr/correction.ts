/*
 * What lets a QR code be read when a part of it is not seen: Reed and Solomon's codes over the 256 numbers of a byte, with
 * the polynomial that QR codes use (x⁸ + x⁴ + x³ + x² + 1). Pure.
 */

const POLYNOMIAL = 0x11d;

/** The product of two bytes as these codes know it. */
export function multiply(one: number, other: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    product = (product << 1) ^ ((product >>> 7) * POLYNOMIAL);
    product ^= ((other >>> bit) & 1) * one;
  }
  return product;
}

/** The divisor of so many bytes, without its first coefficient, which is one. */
function divisor(length: number): number[] {
  const coefficients: number[] = Array.from({ length }, (_, at) => (at === length - 1 ? 1 : 0));
  let root = 1;
  for (let turn = 0; turn < length; turn += 1) {
    for (let at = 0; at < length; at += 1) {
      coefficients[at] = multiply(coefficients[at] ?? 0, root) ^ (coefficients[at + 1] ?? 0);
    }
    root = multiply(root, 2);
  }
  return coefficients;
}

/** The bytes that go with `data`, so many of them. */
export function correctionOf(data: readonly number[], length: number): number[] {
  const by = divisor(length);
  const rest = Array.from({ length }, () => 0);
  for (const byte of data) {
    const factor = byte ^ (rest.shift() ?? 0);
    rest.push(0);
    by.forEach((coefficient, at) => {
      rest[at] = (rest[at] ?? 0) ^ multiply(coefficient, factor);
    });
  }
  return rest;
}

/* Makes a turn's id on this side, so that a prompt that is sent twice begins one turn. */

const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";

/** A new id: `turn_` and the 26 base-32 digits of a UUID version 7. */
export function newTurnId(now: number = Date.now(), random: Uint8Array = crypto.getRandomValues(new Uint8Array(10))): string {
  let bits = BigInt(now) << 80n;
  for (const [index, byte] of random.entries()) bits |= BigInt(byte) << BigInt(8 * index);
  // The version and the variant have their fixed places.
  bits = (bits & ~(0xfn << 76n)) | (0x7n << 76n);
  bits = (bits & ~(0x3n << 62n)) | (0x2n << 62n);
  let digits = "";
  for (let place = 0; place < 26; place += 1) {
    digits = (DIGITS[Number(bits & 31n)] ?? "") + digits;
    bits >>= 5n;
  }
  return `turn_${digits}`;
}

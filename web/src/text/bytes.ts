/* Amounts of bytes, as people say them. */

export function bytes(count: number): string {
  if (count < 1024) return count === 1 ? "1 byte" : `${count} bytes`;
  const kib = count / 1024;
  return kib < 1024 ? `${kib.toFixed(kib < 10 ? 1 : 0)} KiB` : `${(kib / 1024).toFixed(1)} MiB`;
}

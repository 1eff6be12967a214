import { expect, test } from "vitest";
import { bytes } from "./bytes.ts";

test("an amount is said in the unit that fits it", () => {
  expect([0, 1, 70, 1536, 20_480, 5 * 1024 * 1024].map(bytes)).toEqual([
    "0 bytes",
    "1 byte",
    "70 bytes",
    "1.5 KiB",
    "20 KiB",
    "5.0 MiB",
  ]);
});

import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { brotli, compressDirectory } from "./compress.ts";

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "compress-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

test("a file that shrinks gets a copy with the same content", () => {
  const text = "an ask is answered once\n".repeat(200);
  writeFileSync(join(directory, "long.js"), text);

  compressDirectory(directory);

  expect(brotliDecompressSync(readFileSync(join(directory, "long.js.br"))).toString()).toBe(text);
});

test("compressing twice adds nothing", () => {
  writeFileSync(join(directory, "long.js"), "answer ".repeat(500));

  compressDirectory(directory);
  compressDirectory(directory);

  expect(readdirSync(directory).toSorted()).toEqual(["long.js", "long.js.br"]);
});

test("small files and noise are served as they are", () => {
  expect(brotli(Buffer.from("short"))).toBeUndefined();
  expect(brotli(randomBytes(4096))).toBeUndefined();
});

/* Writes a brotli copy (`name.br`) beside every file of a finished build that gets noticeably smaller by it. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import type { Plugin } from "vite";

/** A smaller file fits into one packet anyway. */
const SMALLEST = 1024;
/** What is compressed already (fonts, pictures) saves less than this. */
const WORTHWHILE = 0.9;

/** A Vite plugin that compresses the build's output once everything is written. */
export function compress(): Plugin {
  let directory = "";
  return {
    name: "countersign:compress",
    apply: "build",
    configResolved(config) {
      directory = resolve(config.root, config.build.outDir);
    },
    closeBundle: { order: "post", sequential: true, handler: () => compressDirectory(directory) },
  };
}

/** Compresses the files below `directory`; those that gain little are left alone. */
export function compressDirectory(directory: string): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.endsWith(".br")) continue;
    const path = join(entry.parentPath, entry.name);
    const compressed = brotli(readFileSync(path));
    if (compressed !== undefined) writeFileSync(`${path}.br`, compressed);
  }
}

/** The brotli form of `content`, or nothing when it does not pay. */
export function brotli(content: Buffer): Buffer | undefined {
  if (content.length < SMALLEST) return undefined;
  const compressed = brotliCompressSync(content, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    },
  });
  return compressed.length <= content.length * WORTHWHILE ? compressed : undefined;
}

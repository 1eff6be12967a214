/* Writes the names of the build's files into its worker, which keeps them: with any change of one the worker changes. */
import { createHash } from "node:crypto";
import type { Plugin } from "vite";

const WORKER = "sw.js";
const PLACE = /\bSHELL_OF_THE_BUILD\b/g;

/** A Vite plugin that tells the worker what to keep. */
export function shell(): Plugin {
  return {
    name: "countersign:shell",
    apply: "build",
    enforce: "post",
    generateBundle(_, bundle) {
      const worker = bundle[WORKER];
      if (worker === undefined || worker.type !== "chunk") throw new Error(`the build has no ${WORKER}`);
      if (worker.imports.length > 0) throw new Error(`${WORKER} is no file of its own: it imports ${worker.imports.join(", ")}`);
      const others = Object.values(bundle).filter((file) => file.fileName !== WORKER);
      const contents = others.map((file) => (file.type === "chunk" ? file.code : file.source));
      const files = others.map((file) => file.fileName).filter((name) => name.startsWith("assets/"));
      worker.code = withShell(worker.code, files, contents);
    },
  };
}

/** The worker's code with the names of `files`, and a digest of `contents`. */
export function withShell(code: string, files: readonly string[], contents: readonly (string | Uint8Array)[]): string {
  if (code.search(PLACE) < 0) throw new Error("the worker has no place for the names of the files");
  const digest = createHash("sha256");
  for (const content of contents) digest.update(content);
  const names = JSON.stringify({ version: digest.digest("hex").slice(0, 16), files: files.toSorted() });
  return code.replace(PLACE, () => `(${names})`);
}

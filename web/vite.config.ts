/// <reference types="vitest/config" />
/*
 * Builds the web app that the `countersign` binary serves under `/app/`.
 *
 * Three promises of the server shape this file: the app may stand behind any path prefix, so every URL in the build is
 * relative; it is served with `Content-Security-Policy: default-src 'self'`, so nothing is inlined; and no text becomes
 * markup but by one policy, so templates are drawn by a module of our own.
 */
import { resolve } from "node:path";
import { defineConfig } from "vite";
import solid from "vite-plugin-solid";
import { compress } from "./scripts/compress.ts";
import { shell } from "./scripts/shell.ts";

const at = (path: string) => resolve(import.meta.dirname, path);

export default defineConfig({
  base: "./",
  plugins: [solid({ solid: { moduleName: "countersign-dom" } }), shell(), compress()],
  resolve: { alias: { "countersign-dom": at("src/dom.ts") } },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      input: { index: at("index.html"), sw: at("src/worker/sw.ts") },
      // A worker is asked for by its name, and compared byte by byte.
      output: { entryFileNames: ({ name }) => (name === "sw" ? "sw.js" : "assets/[name]-[hash].js") },
    },
  },
  test: {
    environment: "node",
    include: ["src/**/*.test.{ts,tsx}", "scripts/**/*.test.ts"],
  },
});

/// <reference types="vitest/config" />
/*
 * Builds the web app that the `countersign` binary serves under `/app/`.
 *
 * Two promises of the server shape this file: the app may stand behind any path prefix, so every URL in the
 * build is relative; and it is served with `Content-Security-Policy: default-src 'self'`, so nothing is inlined.
 */
import { defineConfig } from "vite";
import solid from "vite-plugin-solid";
import { compress } from "./scripts/compress.ts";

export default defineConfig({
  base: "./",
  plugins: [solid(), compress()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  test: {
    environment: "node",
    include: ["src/**/*.test.{ts,tsx}", "scripts/**/*.test.ts"],
  },
});

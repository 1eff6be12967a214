/* A build of the app, served as the server serves it: under `/app/` behind a prefix, with its content security policy. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test as base } from "@playwright/test";
import { build, preview } from "vite";

/** Browser tests that need the app alone, without a server behind it; `address` ends in `/app/`. */
export const test = base.extend<object, { address: string }>({
  address: [
    // Playwright reads the first parameter's pattern to learn what the fixture depends on.
    // oxlint-disable-next-line no-empty-pattern
    async ({}, use) => {
      const outDir = mkdtempSync(join(tmpdir(), "countersign-web-"));
      await build({ logLevel: "warn", build: { outDir, emptyOutDir: true } });
      const server = await preview({
        logLevel: "warn",
        base: "/some/prefix/app/",
        build: { outDir },
        preview: { host: "127.0.0.1", headers: { "Content-Security-Policy": "default-src 'self'" } },
      });
      const address = server.resolvedUrls?.local[0];
      if (address === undefined) throw new Error("the preview server has no address");
      await use(address);
      await server.close();
      rmSync(outDir, { recursive: true });
    },
    { scope: "worker", timeout: 60_000 },
  ],
});

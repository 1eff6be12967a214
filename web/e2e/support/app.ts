/*
 * The app that is tried is the one in the program under test. While one works on the app alone, `COUNTERSIGN_APP` names a
 * folder with a build of it (`npm run build` makes `dist`), which is then served in its place, with the server's headers.
 */
import type { BrowserContext } from "@playwright/test";
import { existsSync, readFileSync } from "node:fs";
import { extname, join, resolve } from "node:path";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

export async function serveApp(context: BrowserContext): Promise<void> {
  const given = process.env["COUNTERSIGN_APP"];
  if (given === undefined) return;
  const app = resolve(given);
  let headers: Record<string, string> | undefined;
  await context.route(/\/app\//, async (route) => {
    const path = new URL(route.request().url()).pathname.replace(/^.*\/app\//, "") || "index.html";
    const file = join(app, path);
    if (!existsSync(file)) return route.continue();
    if (path === "index.html") {
      // What the server sends with its own page, but for what is about its bytes.
      const { "content-encoding": _, "content-length": __, etag: ___, ...kept } = (await route.fetch()).headers();
      headers = kept;
    }
    await route.fulfill({ headers: { ...headers, "content-type": TYPES[extname(path)] ?? "" }, body: readFileSync(file) });
  });
}

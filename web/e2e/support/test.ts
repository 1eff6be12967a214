/*
 * Browser tests against the real server: `server` is shared by the tests of a worker, `visit` lets a browser of its
 * own in for each person. A test fails if a page complains: an error in a script or on the console, a broken content
 * security policy, or a request that the server forbids.
 */
import { test as base, type BrowserContext, type BrowserContextOptions, type Page } from "@playwright/test";
import { serveApp } from "./app.ts";
import { Server, type Role } from "./server.ts";

export { expect } from "@playwright/test";

export interface Visit {
  name?: string;
  role?: Role;
  browser?: BrowserContextOptions;
  /** Is given the page before anything is loaded. */
  prepare?: (page: Page) => Promise<void>;
}

interface TestFixtures {
  /** Opens a page in a browser of its own. */
  open: (browser?: BrowserContextOptions) => Promise<Page>;
  /** Opens a page, and pairs it by a link; the owner is called Ada. */
  visit: (visit?: Visit) => Promise<Page>;
  /** What pages may complain of in this test; nothing if it is not said. */
  expected: RegExp | undefined;
}

export const test = base.extend<TestFixtures, { server: Server }>({
  server: [
    // Playwright reads the first parameter's pattern to learn what the fixture depends on.
    // oxlint-disable-next-line no-empty-pattern
    async ({}, use) => {
      const server = await Server.start();
      try {
        await use(server);
      } finally {
        await server.stop();
      }
    },
    { scope: "worker", timeout: 120_000 },
  ],

  expected: [undefined, { option: true }],

  open: async ({ browser, expected }, use) => {
    const complaints: string[] = [];
    const contexts: BrowserContext[] = [];
    await use(async (options) => {
      // What a worker answers no test could answer in its place; those of the app itself allow it.
      const context = await browser.newContext({ serviceWorkers: "block", ...options });
      contexts.push(context);
      await serveApp(context);
      const page = await context.newPage();
      page.on("console", (message) => {
        if (message.type() === "error") complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(error.message));
      page.on("response", (response) => {
        if (response.status() === 403) complaints.push(`403 for ${response.request().method()} ${response.url()}`);
      });
      return page;
    });
    await Promise.all(contexts.map((context) => context.close()));
    const unexpected = complaints.filter((complaint) => expected?.test(complaint) !== true);
    if (unexpected.length > 0) throw new Error(`the page complains:\n${unexpected.join("\n")}`);
  },

  visit: async ({ open, server }, use) => {
    await use(async ({ name = "Ada", role = "owner", browser, prepare } = {}) => {
      const page = await open(browser);
      await prepare?.(page);
      await page.goto(await server.pairingLink(name, role));
      await page.getByText("live", { exact: true }).waitFor();
      return page;
    });
  },
});

/*
 * Pictures of the app's pages, for the README and for whoever wonders what it looks like: `npm run screenshots` writes them
 * into `docs/screenshots`. Another page is one more line of `PAGES`.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Page } from "@playwright/test";
import { askWith, begin, button, said } from "../e2e/support/page.ts";
import { DESK, PHONE } from "../e2e/support/screens.ts";
import { expect, test } from "../e2e/support/test.ts";

const FOLDER = resolve(import.meta.dirname, "../../docs/screenshots");

/** What each page is called, where it is, and by what one sees that it is all there. */
const PAGES: readonly { name: string; at: (scene: Scene) => string; ready: (page: Page) => Promise<unknown> }[] = [
  { name: "inbox", at: () => "#/", ready: (page) => page.locator(".rows .row").first().waitFor() },
  { name: "ask", at: ({ ask }) => `#/asks/${ask}`, ready: (page) => page.getByRole("article").waitFor() },
  { name: "session", at: ({ session }) => `#/sessions/${session}`, ready: (page) => page.locator(".transcript .call").first().waitFor() },
  { name: "sessions", at: () => "#/sessions", ready: (page) => page.locator(".rows .row").first().waitFor() },
  { name: "history", at: () => "#/history", ready: (page) => page.locator(".rows-history .row").first().waitFor() },
];

const SCREENS = { desk: { viewport: { width: 1280, height: 800 } }, phone: PHONE } as const;

/** What there is to be seen. */
interface Scene {
  ask: string;
  session: string;
}

/** Has an agent work, ask and be answered. */
async function play(page: Page, write: (name: string, text: string) => void): Promise<Scene> {
  write("src.txt", Array.from({ length: 9 }, (_, line) => `row ${line} of seeds`).join("\n"));
  await begin(page, "SAY I look at the seeds first.", "TOOL read: src.txt", "TOOL bash: cargo test --workspace", "FINAL All tests pass.");
  const first = askWith(page, "cargo test");
  await button(first, "Allow once").click();
  await expect(first).toContainText("Delivered");
  await expect(said(page, "All tests pass.")).toBeVisible();
  await page.getByRole("link", { name: "Inbox" }).first().click();
  await begin(page, "SAY One row has to be a different one.", "TOOL read: src.txt", "TOOL edit: src.txt <<< row 3 of seeds >>> row three of tulips", "FINAL Done.");
  const change = askWith(page, "wants to change a file");
  await expect(button(change, "Allow once")).toBeVisible();
  const session = /session_\w+/.exec(page.url())?.[0] ?? "";
  await page.getByRole("link", { name: "Inbox" }).first().click();
  await begin(page, "SAY I would like to send it.", "TOOL bash: git push --force origin main && rm -rf build/*", "FINAL Sent.");
  const push = askWith(page, "git push");
  await expect(button(push, "Allow once")).toBeVisible();
  return { ask: (await push.getAttribute("data-ask")) ?? "", session };
}

test("the pages of the app, in the light and in the dark, at a desk and on a phone", async ({ visit, open, server }) => {
  test.setTimeout(600_000);
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const first = await visit({ browser: DESK });
  const scene = await play(first, (name, text) => server.writeFile(name, text));
  for (const [screen, browser] of Object.entries(SCREENS)) {
    const page = await open({ ...browser, reducedMotion: "reduce" });
    await page.goto(await server.pairingLink("Ada", "owner"));
    await page.getByText("live", { exact: true }).waitFor();
    for (const { name, at, ready } of PAGES) {
      await page.goto(`${server.url}/app/${at(scene)}`);
      await ready(page);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: join(FOLDER, `${name}-${screen}-${colorScheme}.png`), animations: "disabled", caret: "hide" });
      }
    }
  }
});

/* Looks at a page for eyes that see little, in the light and in the dark, and on a narrow screen. */
import { AxeBuilder } from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";
import { PHONE } from "./screens.ts";

/** As narrow as a page has to fit: a desk that is enlarged four times. */
const SMALL = { width: 320, height: 640 };

/** What moves for longer than this moves for ever. */
const STILL_MS = 2_000;

/** Looks at the page as it is now, in the light and in the dark, as somebody who wants nothing to move. */
export async function look(page: Page): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    // A colour that is on its way to another is none that anybody has to read.
    await page.evaluate(async (limit) => {
      const done = document.getAnimations().map((animation) => animation.finished.catch(() => undefined));
      await Promise.race([Promise.all(done), new Promise((resolve) => setTimeout(resolve, limit))]);
    }, STILL_MS);
    // There are no frames here, for which alone it would open pages of its own.
    const axe = new AxeBuilder({ page }).setLegacyMode();
    // Nothing but the colours is different in the dark.
    if (colorScheme === "dark") axe.withRules("color-contrast");
    const { violations } = await axe.analyze();
    const found = violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}\n${node.failureSummary}`));
    expect(found, colorScheme).toEqual([]);
  }
  const moving = () => page.evaluate(() => document.getAnimations().filter(({ playState }) => playState === "running").length);
  await expect.poll(moving, "nothing moves for who wants no motion").toBe(0);
  const overhang = () =>
    page.evaluate(() =>
      [document.documentElement, ...Array.from(document.querySelectorAll(".panes, .pane-list, .pane-chosen, .page, dialog[open]"))].map(
        (box) => box.scrollWidth - box.clientWidth,
      ),
    );
  expect(Math.max(...(await overhang())), "nothing reaches over the side").toBeLessThanOrEqual(0);
  if (page.viewportSize()?.width !== PHONE.viewport.width) return;
  // What fits on a phone fits on one that is enlarged by a quarter, too.
  await page.setViewportSize(SMALL);
  // A page takes a moment to see how narrow it has become.
  const foot = () => page.evaluate(() => Math.max(0, ...Array.from(document.querySelectorAll(".bar nav"), (nav) => nav.scrollWidth - nav.clientWidth)));
  await expect.poll(foot, "the whole navigation is in sight on a small phone").toBe(0);
  expect(Math.max(...(await overhang())), "nothing reaches over the side of a small phone").toBeLessThanOrEqual(0);
  await page.setViewportSize(PHONE.viewport);
}

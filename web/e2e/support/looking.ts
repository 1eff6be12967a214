/* Looks at a page for eyes that see little, in the light and in the dark, and on a narrow screen. */
import { AxeBuilder } from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";
import { DESK, PHONE } from "./screens.ts";

/** As narrow as a page has to fit: a desk that is enlarged four times. */
const SMALL = { width: 320, height: 640 };

/** What moves for longer than this moves for ever. */
const STILL_MS = 2_000;

/** Looks at the page as it is now; in the dark at a desk alone, for the colours are the same everywhere. */
export async function look(page: Page): Promise<void> {
  const schemes = page.viewportSize()?.width === DESK.viewport.width ? (["light", "dark"] as const) : (["light"] as const);
  for (const colorScheme of schemes) {
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
  expect(Math.max(...(await overhang())), "nothing reaches over the side of a small phone").toBeLessThanOrEqual(0);
  await page.setViewportSize(PHONE.viewport);
}

/* One inbox for every workspace and every engine. */
import { askWith, begin, button } from "./support/page.ts";
import { look } from "./support/looking.ts";
import { DESK } from "./support/screens.ts";
import { Server } from "./support/server.ts";
import { expect, test } from "./support/test.ts";

test("the asks of two workspaces and two engines are in one list, and are told apart and chosen by either", async ({ open }) => {
  test.setTimeout(180_000);
  const server = await Server.start("orchard");
  const page = await open(DESK);
  try {
    await page.goto(await server.pairingLink("Ada", "owner"));
    await begin(page, "TOOL bash: echo roses", "FINAL Done.");
    await expect(askWith(page, "echo roses")).toBeVisible();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Inbox" }).click();
    const field = page.getByLabel("Ask an agent to do something");
    await field.fill("RUN echo apples");
    await page.locator(".new-session-where label").filter({ hasText: /^in/ }).getByRole("combobox").selectOption("orchard");
    await page.getByLabel("with").selectOption("demo");
    await field.press("Enter");
    await expect(askWith(page, "echo apples")).toBeVisible();

    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Inbox" }).click();
    const rows = page.locator(".rows:not(.rows-settled) > .row");
    const [roses, apples] = [rows.filter({ hasText: "echo roses" }), rows.filter({ hasText: "echo apples" })];
    await expect(roses).toContainText("garden");
    await expect(apples).toContainText("orchard");
    const filter = page.getByRole("button", { name: /^Filter/ });
    await filter.click();
    await page.getByLabel("Workspace", { exact: true }).selectOption({ label: "orchard (1)" });
    await expect(roses).toHaveCount(0);
    await look(page);
    await page.getByLabel("Workspace", { exact: true }).selectOption({ label: "All workspaces" });
    await page.getByLabel("Engine").selectOption({ label: "opencode (1)" });
    await expect(apples).toHaveCount(0);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "No longer only Engine opencode" }).click();
    await look(page);
    for (const [row, command] of [
      [roses, "echo roses"],
      [apples, "echo apples"],
    ] as const) {
      await row.getByRole("link").click();
      await button(askWith(page, command), /^Allow once/).click();
      await expect(askWith(page, command)).toContainText("Delivered");
    }
  } finally {
    // A page that is still there would miss its server.
    await page.close();
    await server.stop();
  }
});

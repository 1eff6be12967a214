/* The ledger: figures for everybody who reads, the audit for an owner, on both screens. */
import type { Page } from "@playwright/test";
import { askWith, begin, button, said } from "./support/page.ts";
import { look } from "./support/looking.ts";
import { DESK, PHONE } from "./support/screens.ts";
import type { Server } from "./support/server.ts";
import { expect, test } from "./support/test.ts";

// Several views are looked at in each, in the light and in the dark.
test.describe.configure({ timeout: 180_000 });

async function goTo(page: Page, server: Server, part: string): Promise<void> {
  await page.goto(`${server.url}/app/#/ledger${part}`);
}

/** A chart, or a part of the audit, by its title. */
const part = (page: Page, title: string) => page.locator("section").filter({ has: page.getByRole("heading", { name: title, exact: true }) });

for (const [place, browser] of [
  ["a desk", DESK],
  ["a phone", PHONE],
] as const) {
  test.describe(`at ${place},`, () => {
    test("figures tell how many asks there were, how long people took, and whether in time", async ({ visit }) => {
      const page = await visit({ browser, name: `Ida at ${place}` });
      await begin(page, `TOOL bash: echo counted-${place.slice(2)}`, "FINAL Counted.");
      await button(askWith(page, "echo counted"), "Allow once").click();
      await expect(said(page, "Counted.")).toBeVisible();

      await page.getByRole("link", { name: "Ledger" }).click();
      const perDay = part(page, "Asks per day");
      await expect(perDay.locator("rect").first()).toBeVisible();
      await perDay.getByText("As a table").click();
      await expect(perDay.getByRole("row")).toHaveCount(31);
      const today = perDay.getByRole("row").nth(1);
      await expect(today.getByRole("cell").last()).not.toHaveText("0");
      await expect(part(page, "By whom").getByRole("row", { name: new RegExp(`Ida at ${place}`) })).toContainText("1");
      await expect(part(page, "Allowed and denied, by tool").getByRole("row", { name: /bash/ })).toBeVisible();
      await expect(part(page, "Time to answer")).toContainText("Half within");

      const inTime = part(page, "Answered in time");
      await expect(inTime).toContainText("within 5 min");
      await inTime.getByLabel("Target").selectOption({ label: "1 h" });
      await expect(inTime).toContainText("within 1 h");
      await inTime.getByText("What is counted").click();
      await expect(inTime).toContainText("the approval SLO");
      await look(page);
      await page.reload();
      await expect(inTime, "it is remembered").toContainText("within 1 h");
      await page.getByRole("button", { name: "7 days" }).click();
      await expect(perDay).toContainText("in 7 days");
    });

    test("the audit is searched by text, deed and name, and its chains are verified", async ({ visit, server }) => {
      const page = await visit({ browser });
      const reason = `No weeds at ${place}`;
      await begin(page, `TOOL bash: echo weeds-${place.slice(2)}`, "FINAL Then not.");
      const ask = askWith(page, "echo weeds");
      await ask.getByLabel(/Reason for denying/).fill(reason);
      await button(ask, "Deny").click();
      await expect(said(page, "Then not.")).toBeVisible();

      await goTo(page, server, "/audit");
      const entries = page.locator(".entry");
      await expect(entries.first()).toBeVisible();
      await look(page);
      await page.getByLabel("Search the audit").fill(reason);
      await expect(entries).toHaveCount(1);
      await expect(entries).toContainText("Ada answered an ask");
      await entries.locator("summary").click();
      await expect(entries.getByText(reason)).toBeVisible();
      await look(page);
      await page.getByLabel("By whom").fill("nobody at all");
      await expect(page.getByText("Nothing like this was found.")).toBeVisible();
      await page.getByRole("button", { name: "Clear" }).click();
      await page.getByLabel("Deed").selectOption({ label: "asked" });
      await expect(entries.first()).toContainText("asked");
      await expect(entries.filter({ hasText: "answered an ask" })).toHaveCount(0);
      await page.getByLabel("To", { exact: true }).fill("2020-01-01");
      await expect(page.getByText("Nothing like this was found.")).toBeVisible();
      await page.getByRole("button", { name: "Clear" }).click();
      await page.getByLabel("Chain").selectOption({ label: "The server itself" });
      await expect(entries.first()).toContainText(/pair|token/);

      const chains = page.locator(".chain");
      await page.getByRole("button", { name: "Verify now" }).click();
      await expect(chains.filter({ hasText: "garden" })).toContainText(/Whole.*verified just now/);
      await expect(chains.filter({ hasText: "The server itself" })).toContainText("Whole");
      await look(page);
      await entries.first().scrollIntoViewIfNeeded();
    });

    test("a viewer sees figures and how the chains were found, and is told what is missing for the rest", async ({ visit, server }) => {
      const page = await visit({ browser, name: "Vera", role: "viewer" });
      await goTo(page, server, "");
      await expect(part(page, "Asks per day")).toBeVisible();
      await goTo(page, server, "/audit");
      await expect(page.locator(".chain").filter({ hasText: "garden" })).toBeVisible();
      await expect(page.getByRole("button", { name: "Verify now" })).toHaveCount(0);
      await expect(page.getByText("is shown to whoever has the grant administer")).toBeVisible();
      await expect(page.getByLabel("Search the audit")).toHaveCount(0);
      await look(page);
    });
  });
}

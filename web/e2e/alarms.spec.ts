/* What happened and must not: it is shown wherever one is, until somebody has taken note of it. */
import { AxeBuilder } from "@axe-core/playwright";
import { askWith, begin, button, idOf } from "./support/page.ts";
import { Server } from "./support/server.ts";
import { expect, test } from "./support/test.ts";

test("an answer at the engine itself raises an alarm that leads to the ask and stays until it is dismissed", async ({ open }) => {
  test.setTimeout(180_000);
  // An alarm is never taken back, so this server is not one that others use.
  const server = await Server.start();
  try {
    const page = await open();
    await page.goto(await server.pairingLink("Ada", "owner"));
    await begin(page, "TOOL bash: sleep 30 && echo gone > shed.txt", "FINAL Not said.");
    const ask = askWith(page, "sleep 30 && echo gone > shed.txt");
    await expect(button(ask, "Allow once")).toBeVisible();
    const alarms = page.getByRole("alert", { name: "Alarms" });
    await expect(alarms).toHaveCount(0);

    await server.replyAtEngine(await idOf(ask));

    await expect(alarms).toContainText("past Countersign; the session was stopped");
    await expect(alarms).toContainText("sleep 30 && echo gone > shed.txt");
    await expect(ask).toContainText("Withdrawn");
    await expect(ask).toContainText("answered at the engine itself, with once");
    await expect(page.getByText("The turn was cancelled.")).toBeVisible();
    expect((await new AxeBuilder({ page }).setLegacyMode().analyze()).violations).toEqual([]);

    // It is there on every page, and leads to what it is about.
    await page.getByRole("link", { name: "Inbox" }).click();
    await alarms.getByRole("link", { name: "The ask" }).click();
    await expect(ask).toContainText("Withdrawn");
    await alarms.getByRole("link", { name: "The session" }).click();
    await expect(page.getByRole("list", { name: "Transcript" })).toBeVisible();
    await page.reload();
    await expect(alarms).toContainText("past Countersign");

    await alarms.getByRole("button", { name: "Dismiss" }).click();
    await expect(alarms).toHaveCount(0);
    await page.reload();
    await expect(page.getByText("live", { exact: true })).toBeVisible();
    await expect(alarms, "who has taken note is not told again").toHaveCount(0);
    expect(server.file("shed.txt")).toBeUndefined();
    await page.close();
  } finally {
    await server.stop();
  }
});

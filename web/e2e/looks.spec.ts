/* Every view, for eyes that see little, in the light and in the dark, and on a narrow screen. */
import { look } from "./support/looking.ts";
import { askWith, begin, button, goOn, said } from "./support/page.ts";
import { DESK, PHONE } from "./support/screens.ts";
import { expect, test } from "./support/test.ts";

const LONG = `echo ${"a-very-long-word-without-a-blank/".repeat(12)} && ${"printf '%s' more; ".repeat(20)}true`;

for (const [place, browser] of [
  ["a desk", DESK],
  ["a phone", PHONE],
] as const) {
  test(`every view is accessible and fits on ${place}`, async ({ visit, server }) => {
    test.setTimeout(120_000);
    const seeds = `${place.replace(" ", "-")}.txt`;
    server.writeFile(seeds, Array.from({ length: 12 }, (_, line) => `row ${line} ${"seed ".repeat(40)}`).join("\n"));
    const page = await visit({ browser });
    await page.getByRole("heading", { name: "Waiting for an answer" }).waitFor();
    await look(page);

    await page.getByRole("button", { name: "Account of Ada" }).click();
    await look(page);
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await look(page);
    await page.getByRole("button", { name: "Close" }).click();

    // A command, in its session and in the inbox, with the dialog that makes a rule.
    await begin(page, "SAY I will say a few words first.", `TOOL bash: ${LONG} \u202E`, "FINAL Enough of that.");
    const command = askWith(page, "wants to run a command");
    await expect(button(command, "Allow once")).toBeVisible();
    await look(page);
    await page.getByRole("link", { name: "Inbox" }).click();
    await look(page);
    await page.getByRole("listitem").filter({ hasText: "wants to run a command" }).getByRole("link").first().click();
    await button(command, "Always for…").click();
    await look(page);
    await page.getByRole("button", { name: "Cancel" }).click();
    await command.getByLabel(/Reason for denying/).fill("Too long for my taste");
    await button(command, "Deny").click();
    await expect(command).toContainText("Delivered");
    await look(page);

    // A diff and a question, one after the other in the same session.
    await command.getByRole("link").first().click();
    await expect(said(page, "Enough of that.")).toBeVisible();
    await goOn(page, `TOOL read: ${seeds}`, `TOOL edit: ${seeds} <<< row 3 >>> row three`, "TOOL question: Which? | This | That");
    const change = askWith(page, "wants to change a file");
    await expect(button(change, "Allow once")).toBeVisible();
    await look(page);
    await button(change, "Allow once").click();
    const question = askWith(page, "has a question");
    await question.getByLabel("That").check();
    await look(page);
    await button(question, "Send answer").click();
    await expect(question).toContainText("Delivered");
    await look(page);
    await page.getByRole("navigation").getByRole("link", { name: "Sessions" }).click();
    await look(page);
  });
}

/* The whole way of an ask, in one browser: from the pairing link to the tool that ran. */
import { askWith, begin, button, goOn, pieces, said } from "./support/page.ts";
import { expect, test } from "./support/test.ts";

test("from the pairing link over a prompt and its ask to the tool that ran", async ({ open, server }) => {
  const page = await open();
  const { link } = await server.cli<{ link: string }>("pair", "--name", "Ada");
  await page.goto(link);
  await expect(page.getByText("Nothing is waiting for you.")).toBeVisible();
  expect(page.url(), "the code is gone from the address").not.toContain("pair=");

  await begin(page, "SAY I will greet the garden.", "TOOL bash: echo hi > a.txt", "FINAL The garden was greeted.");
  await expect(said(page, "I will greet the garden.")).toBeVisible();
  const ask = askWith(page, "wants to run a command");
  await expect(ask.locator("pre.command")).toHaveText("echo hi > a.txt");
  await expect(page).toHaveTitle("(1) Countersign");
  expect(server.file("a.txt"), "nothing runs before the answer").toBeUndefined();

  await button(ask, "Allow once").click();
  await expect(ask).toContainText("Allowed once by you");
  await expect(ask).toContainText("Delivered · the engine announced permission.replied");
  // Each once, in the order in which it was said and done.
  await expect(pieces(page)).toHaveText([
    "I will greet the garden.",
    /^done\s*bash\s*echo hi > a.txt/,
    "The garden was greeted.",
  ]);
  expect(server.file("a.txt")).toBe("hi\n");
  await expect(page).toHaveTitle("Countersign");

  await page.getByRole("link", { name: "Inbox" }).click();
  await expect(page.getByRole("listitem").filter({ hasText: "echo hi > a.txt" })).toContainText(
    "Allowed once by you, delivered",
  );
});

test("words are shown while they are being said, and a turn can be stopped", async ({ visit }) => {
  const page = await visit();
  await begin(page, "STALL", "FINAL These words are said by somebody who never ends");
  await expect(said(page, "These words are said by somebody who never ends")).toBeVisible();
  await expect(page.locator("[data-activity=busy]")).toBeVisible();

  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByText("The turn was cancelled.")).toBeVisible();

  await goOn(page, "FINAL Back again.");
  await expect(said(page, "Back again.")).toBeVisible();
});

/* Each kind of answer, given on the page to a real agent. */
import { askWith, begin, button, goOn, said } from "./support/page.ts";
import { expect, test } from "./support/test.ts";

test("a denial is given by keyboard, and the agent reads its reason", async ({ visit, server }) => {
  const page = await visit();
  await begin(page, "TOOL bash: echo weeds > weeds.txt", "FINAL Then not.");
  const ask = askWith(page, "echo weeds > weeds.txt");
  await expect(button(ask, "Deny")).toBeVisible();
  await page.locator("body").click({ position: { x: 5, y: 5 } });

  await page.keyboard.press("d");
  await page.keyboard.type("Weeds only in autumn, please");
  await page.keyboard.press("Enter");

  await expect(ask).toContainText("Denied by you");
  await expect(ask.getByRole("blockquote")).toHaveText("Weeds only in autumn, please");
  await expect(ask).toContainText("Delivered");
  await expect(said(page, "Then not.")).toBeVisible();
  await expect.poll(() => server.modelWasSent("Weeds only in autumn, please")).toBe(true);
  expect(server.file("weeds.txt")).toBeUndefined();
});

test("what is always allowed in a session runs the second time without an ask", async ({ visit, server }) => {
  const page = await visit();
  const command = "echo water >> always.txt";
  await begin(page, `TOOL bash: ${command}`, "FINAL Watered once.");
  const ask = askWith(page, command);
  await button(ask, "Always for…").click();
  const dialog = page.getByRole("dialog", { name: "Always allow" });
  await expect(dialog).toContainText(command);
  await expect(dialog.getByLabel("This session")).toBeChecked();
  await dialog.getByRole("button", { name: "Always allow" }).click();
  await expect(ask).toContainText("Always allowed in this session by you");
  await expect(said(page, "Watered once.")).toBeVisible();

  await goOn(page, `TOOL bash: ${command}`, "FINAL Watered twice.");
  await expect(said(page, "Watered twice.")).toBeVisible();
  expect(server.file("always.txt")).toBe("water\nwater\n");

  await page.getByRole("link", { name: "Inbox" }).click();
  await expect(page.getByRole("listitem").filter({ hasText: "Allowed by a rule" }).first()).toContainText(command);
});

test.describe("a pattern", () => {
  // The one that does not fit is refused, which the browser notes.
  test.use({ expected: /422/ });

  test("has to fit what is asked, and allows in the session what is like it", async ({ visit, server }) => {
    const page = await visit();
    await begin(page, "TOOL write: beds/roses.txt <<< red", "FINAL Planted.");
    const ask = askWith(page, "wants to change a file");
    await button(ask, "Always for…").click();
    const dialog = page.getByRole("dialog", { name: "Always allow" });
    await dialog.getByLabel("Everything like a pattern").check();
    const pattern = dialog.getByLabel("Pattern", { exact: true });
    await expect(pattern, "the folder, as it is below the workspace").toHaveValue("beds/**");
    await pattern.fill("elsewhere/**");
    await dialog.getByRole("button", { name: "Always allow" }).click();
    await expect(ask).toContainText("does not match what is asked here");
    expect(server.file("beds/roses.txt")).toBeUndefined();

    await button(ask, "Always for…").click();
    await dialog.getByLabel("Everything like a pattern").check();
    await dialog.getByRole("button", { name: "Always allow" }).click();
    await expect(ask).toContainText("Always allowed in this session by you");
    await expect(ask).toContainText(/Everything like .*beds\/\*\*/);
    await expect(said(page, "Planted.")).toBeVisible();

    await goOn(page, "TOOL write: beds/beans.txt <<< green", "FINAL Planted as well.");
    await expect(said(page, "Planted as well.")).toBeVisible();
    expect(server.file("beds/beans.txt")).toBeDefined();
  });
});

test("a question is answered with an option, and with own words", async ({ visit, server }) => {
  const page = await visit();
  await begin(page, "TOOL question: Which bed first? | Roses | Beans", "FINAL Noted.");
  const first = askWith(page, "Which bed first?");
  await first.getByLabel("Beans").check();
  await button(first, "Send answer").click();
  await expect(first).toContainText("Answered by you");
  await expect(first).toContainText("Delivered");
  await expect(said(page, "Noted.")).toBeVisible();

  await goOn(page, "TOOL question: And what then? | Rest | More", "FINAL Noted as well.");
  const second = askWith(page, "And what then?");
  await second.getByLabel(/Your own words/).fill("Prune the pear tree");
  await button(second, "Send answer").click();
  await expect(second).toContainText("Prune the pear tree");
  await expect(second).toContainText("Delivered");
  await expect(said(page, "Noted as well.")).toBeVisible();
  await expect.poll(() => server.modelWasSent("Prune the pear tree")).toBe(true);
});

test("a question is answered by the number of an option, with the keyboard alone", async ({ visit }) => {
  const page = await visit();
  await begin(page, "TOOL question: Which bed first? | Roses | Beans", "FINAL Noted.");
  const ask = askWith(page, "Which bed first?");
  await expect(ask).toBeVisible();
  await page.keyboard.press("Escape");
  await page.keyboard.press("9");
  await expect(ask.getByRole("radio", { checked: true })).toHaveCount(0);
  await page.keyboard.press("2");
  await expect(ask.getByLabel("Beans")).toBeChecked();
  await expect(button(ask, "Send answer")).not.toHaveAttribute("aria-disabled", "true");
  await page.keyboard.press("a");
  await expect(ask).toContainText("Delivered");
  await expect(said(page, "Noted.")).toBeVisible();
});

test("a change to a file is shown as a diff before it is made", async ({ visit, server }) => {
  server.writeFile("beds.txt", "roses\nbeans\npeas\n");
  const page = await visit();
  await begin(page, "TOOL read: beds.txt", "TOOL edit: beds.txt <<< beans >>> broad beans", "FINAL Changed.");
  const ask = askWith(page, "wants to change a file");
  await expect(ask.locator(".diff")).toContainText("beds.txt");
  await expect(ask.locator(".diff-removed .diff-text")).toHaveText("beans");
  await expect(ask.locator(".diff-added .diff-text")).toHaveText("broad beans");
  expect(server.file("beds.txt")).toBe("roses\nbeans\npeas\n");

  await button(ask, "Allow once").click();
  await expect(ask).toContainText("Delivered");
  await expect(said(page, "Changed.")).toBeVisible();
  expect(server.file("beds.txt")).toBe("roses\nbroad beans\npeas\n");
  // What was changed is in the transcript too, folded away.
  const call = page.locator(".call").filter({ hasText: "edit" });
  await expect(call.locator(".diff")).toBeHidden();
  await call.locator("summary").click();
  await expect(call.locator(".diff-added .diff-text")).toHaveText("broad beans");
});

test("characters that hide or reorder a command are written out", async ({ visit }) => {
  const page = await visit();
  await begin(page, "TOOL bash: echo safe \u202Etxt.x\u200B # end", "FINAL Enough.");
  const ask = askWith(page, "wants to run a command");
  await expect(ask.locator("pre.command")).toHaveText("echo safe ⟨U+202E⟩txt.x⟨U+200B⟩ # end");
  await expect(ask).toContainText("2 characters below cannot be seen or reorder the text");
  await button(ask, "Deny").click();
  await expect(ask).toContainText("Delivered");
});

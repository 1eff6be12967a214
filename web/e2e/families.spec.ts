/* Asks that hang together: those of one session, and those of its sub-agents. */
import { askWith, begin, button, said } from "./support/page.ts";
import { expect, test } from "./support/test.ts";

test("who denies one of two asks is told before that the other falls too, and both say how they ended", async ({
  visit,
  server,
}) => {
  const page = await visit();
  await begin(page, "TOOL bash: echo leeks > leeks.txt", "& TOOL bash: echo chard > chard.txt", "FINAL Neither, then.");
  const [leeks, chard] = [askWith(page, "echo leeks > leeks.txt"), askWith(page, "echo chard > chard.txt")];
  for (const ask of [leeks, chard]) {
    await expect(ask).toContainText("If you deny, 1 other ask of this session will fall with it.");
  }

  await leeks.getByLabel(/Reason for denying/).fill("The beds are frozen");
  await button(leeks, "Deny").click();

  await expect(leeks).toContainText("Denied by you");
  await expect(leeks).toContainText("Delivered");
  await expect(chard).toContainText("Withdrawn");
  await expect(chard).toContainText("was denied");
  await expect(button(chard, "Allow once")).toHaveCount(0);
  // opencode drops the reason when others fall, so it follows as a prompt of its own.
  await expect.poll(() => server.modelWasSent("The reason: The beds are frozen")).toBe(true);
  await expect(page.locator(".piece-prompt").filter({ hasText: "The beds are frozen" })).toBeVisible();
  expect([server.file("leeks.txt"), server.file("chard.txt")]).toEqual([undefined, undefined]);
  await expect(page.getByRole("alert"), "nothing here is an alarm").toHaveCount(0);
});

test("an ask that stands alone warns of nothing", async ({ visit }) => {
  const page = await visit();
  await begin(page, "TOOL bash: echo kale > kale.txt", "FINAL Planted.");
  const ask = askWith(page, "echo kale > kale.txt");
  await expect(button(ask, "Allow once")).toBeVisible();
  await expect(ask).not.toContainText("will fall with it");
  await button(ask, "Allow once").click();
  await expect(said(page, "Planted.")).toBeVisible();
});

test("a sub-agent's ask is shown with the session that started it, there and in the inbox", async ({ visit, server }) => {
  const page = await visit();
  await begin(
    page,
    "TOOL task: look after the pond | TOOL bash: echo frogs > pond.txt ;; FINAL The pond is well.",
    "FINAL The helper came back.",
  );
  const parent = page.url();
  const ask = askWith(page, "echo frogs > pond.txt");
  await expect(ask).toContainText("general wants to run a command");
  await expect(ask.locator(".requester")).toContainText("sub-agent of");

  await page.getByRole("link", { name: "Inbox" }).click();
  await page.getByRole("listitem").filter({ hasText: "echo frogs > pond.txt" }).getByRole("link").first().click();
  await expect(ask.locator(".requester")).toContainText("sub-agent of");
  const links = ask.locator(".requester").getByRole("link");
  await expect(links).toHaveCount(2);
  // The first leads to the sub-agent's own session, which says whose it is; the second to its parent's.
  await links.first().click();
  await expect(page.locator(".conversation-head")).toContainText("sub-agent of");
  expect(page.url()).not.toBe(parent);
  await page.locator(".conversation-head").getByRole("link").click();
  await expect(page).toHaveURL(parent);

  await button(ask, "Allow once").click();
  await expect(ask).toContainText("Delivered");
  await expect(said(page, "The helper came back.")).toBeVisible();
  expect(server.file("pond.txt")).toBe("frogs\n");
});

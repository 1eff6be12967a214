/* An ask stays until it is over: no timer takes it away, and no crash of the server. */
import { askWith, begin, button, idOf, said } from "./support/page.ts";
import { expect, test } from "./support/test.ts";

test("no timer takes an ask off the page; the ledger does", async ({ visit, server }) => {
  const page = await visit({ prepare: (fresh) => fresh.clock.install() });
  await begin(page, "TOOL bash: echo patient > patient.txt", "FINAL At last.");
  const ask = askWith(page, "echo patient > patient.txt");
  await expect(button(ask, "Allow once")).toBeVisible();

  for (const [hours, waiting] of [
    [1, "1 h"],
    [22, "23 h"],
    [977, "41 d 16 h"],
  ] as const) {
    await page.clock.fastForward(hours * 3_600_000);
    await expect(ask.locator(".chip-waiting"), "the page has seen the time pass").toContainText(waiting);
    await expect(page.getByText("live", { exact: true })).toBeVisible();
    await expect(button(ask, "Allow once")).toBeVisible();
  }

  await server.answer(await idOf(ask), { answer: "allow_once" }, await server.token("Grace", "collaborator"));
  await expect(ask).toContainText("Allowed once by Grace");
  await expect(ask).toContainText("Delivered");
  await page.clock.fastForward(3_600_000);
  await expect(ask, "how it ended stays to be read").toContainText("Delivered");
});

test.describe("a crash", () => {
  test.use({ expected: /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED_ENCODING/ });

  test("of the server leaves the ask open, and the page finds back by itself", async ({ visit, server }) => {
    const page = await visit();
    await begin(page, "TOOL bash: echo survived > survived.txt", "FINAL Still here.");
    const ask = askWith(page, "echo survived > survived.txt");
    await expect(button(ask, "Allow once")).toBeVisible();

    await server.kill();
    await expect(page.getByRole("alert")).toContainText("Connection lost. What you see may be out of date.");
    await expect(ask, "it is still to be read").toBeVisible();
    await button(ask, "Allow once").click();
    await expect(ask).toContainText("Your answer was not accepted. The server cannot be reached.");

    await server.restart();
    await expect(page.getByText("live", { exact: true })).toBeVisible();
    await expect(page.getByText("Connection lost.")).toHaveCount(0);
    await button(ask, "Allow once").click();
    await expect(ask).toContainText("Allowed once by you");
    await expect(ask).toContainText("Delivered");
    await expect(said(page, "Still here.")).toBeVisible();
    expect(server.file("survived.txt")).toBe("survived\n");
  });
});

/* Countersign's page on a server that stands where OpenWork's stands: whoever holds a token of it answers its engine there. */
import { bearer, OpenWorkServer } from "./support/openwork.ts";
import { askWith, button } from "./support/page.ts";
import { expect, test as base } from "./support/test.ts";

const test = base.extend<object, { openwork: OpenWorkServer }>({
  openwork: [
    // Playwright reads the first parameter's pattern to learn what the fixture depends on.
    // oxlint-disable-next-line no-empty-pattern
    async ({}, use) => {
      const server = await OpenWorkServer.start();
      try {
        await use(server);
      } finally {
        await server.stop();
      }
    },
    { scope: "worker", timeout: 120_000 },
  ],
});

test("a browser that holds a collaborator's token allows a command, and it runs", async ({ open, openwork }) => {
  const token = await openwork.token("collaborator", "Grace");
  const page = await open({ extraHTTPHeaders: bearer(token) });
  await page.goto(`${openwork.url}/app/`);
  await page.getByText("live", { exact: true }).waitFor();

  await openwork.begin("TOOL bash: echo sown > sown.txt", "FINAL Sown.");
  const ask = askWith(page, "echo sown > sown.txt");
  await expect(button(ask, "Allow once")).toBeVisible();
  expect(openwork.file("sown.txt"), "nothing runs before the answer").toBeUndefined();
  await button(ask, "Allow once").click();
  await expect(ask).toContainText("Allowed once by you");
  await expect(ask).toContainText("Delivered · the engine announced permission.replied");
  await expect.poll(() => openwork.file("sown.txt")).toBe("sown\n");
});

test("a browser that an owner lets in as a collaborator denies a command, and it does not run", async ({ open, openwork }) => {
  const page = await open();
  await page.goto(await openwork.pairingLink("Grace", "collaborator"));
  await page.getByText("live", { exact: true }).waitFor();

  await openwork.begin("TOOL bash: echo dug > dug.txt", "FINAL Not dug.");
  const ask = askWith(page, "echo dug > dug.txt");
  await button(ask, "Deny").first().click();
  await expect(ask).toContainText("Denied by you");
  await expect(ask).toContainText("Delivered");
  expect(openwork.file("dug.txt")).toBeUndefined();
});

test("a browser that holds a viewer's token is told what is missing", async ({ open, openwork }) => {
  const page = await open({ extraHTTPHeaders: bearer(await openwork.token("viewer", "Vera")) });
  await page.goto(`${openwork.url}/app/`);
  await page.getByText("live", { exact: true }).waitFor();

  await openwork.begin("TOOL bash: echo seen > seen.txt", "FINAL Seen.");
  const ask = askWith(page, "echo seen > seen.txt");
  await expect(ask).toContainText("your grant answer is missing");
  await expect(ask.getByRole("button")).toHaveCount(0);
  expect(openwork.file("seen.txt")).toBeUndefined();
});

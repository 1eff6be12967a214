/* Several people, each with what they may do. */
import { askWith, begin, button, idOf, said } from "./support/page.ts";
import { expect, test } from "./support/test.ts";

test("an ask that somebody else answers says who it was", async ({ visit, server }) => {
  const page = await visit();
  await begin(page, "TOOL bash: echo dig > dig.txt", "FINAL Dug.");
  const ask = askWith(page, "echo dig > dig.txt");
  await expect(button(ask, "Allow once")).toBeVisible();

  await server.answer(await idOf(ask), { answer: "allow_once" }, await server.token("Grace", "collaborator"));

  await expect(ask).toContainText("Allowed once by Grace, over HTTP");
  await expect(ask).toContainText("Delivered");
  await expect(button(ask, "Allow once")).toHaveCount(0);
  await expect(said(page, "Dug.")).toBeVisible();
});

test.describe("racing", () => {
  // The browser tells of every refused request by itself.
  test.use({ expected: /status of 409/ });

  test("whoever comes second is told who was first", async ({ visit, server }) => {
    const page = await visit();
    await begin(page, "TOOL bash: echo race > race.txt", "FINAL Over.");
    const ask = askWith(page, "echo race > race.txt");
    const token = await server.token("Grace", "collaborator");
    await page.route("**/answer", async (route) => {
      await server.answer(await idOf(ask), { answer: "deny", reason: "No races" }, token);
      await route.continue();
    });

    await button(ask, "Allow once").click();

    await expect(ask).toContainText("Your answer came second. Grace, over HTTP had said: Denied. That stands.");
    await expect(ask).toContainText("No races");
    await expect(ask).toContainText("Delivered");
    await expect(said(page, "Over.")).toBeVisible();
    expect(server.file("race.txt")).toBeUndefined();
  });
});

test("a collaborator prompts and answers, and nothing is forbidden", async ({ visit, server }) => {
  const page = await visit({ name: "Grace", role: "collaborator" });
  await begin(page, "TOOL bash: echo sown > sown.txt", "FINAL Sown.");
  const ask = askWith(page, "echo sown > sown.txt");
  await button(ask, "Allow once").click();
  await expect(ask).toContainText("Allowed once by you");
  await expect(ask).toContainText("Delivered");
  await expect(said(page, "Sown.")).toBeVisible();
  expect(server.file("sown.txt")).toBe("sown\n");
});

test("a viewer reads the ask, has no buttons, and is told what is missing", async ({ visit }) => {
  const owner = await visit();
  await begin(owner, "TOOL bash: echo seen > seen.txt", "FINAL Seen.");
  const ask = askWith(owner, "echo seen > seen.txt");
  await expect(button(ask, "Allow once")).toBeVisible();

  const viewer = await visit({ name: "Vera", role: "viewer" });
  const seen = askWith(viewer, "echo seen > seen.txt");
  await expect(seen).toContainText("your grant answer is missing");
  await expect(seen.getByRole("button")).toHaveCount(0);
  await expect(viewer.getByLabel("Ask an agent to do something")).toHaveCount(0);
  await seen.getByRole("link").first().click();
  await expect(viewer.getByText("your grant prompt is missing")).toBeVisible();

  await button(ask, "Allow once").click();
  await expect(askWith(viewer, "echo seen > seen.txt")).toContainText("Allowed once by Ada, in a browser");
});

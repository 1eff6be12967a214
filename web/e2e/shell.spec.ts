/* The first page, as the server sends it to a browser that it does not know. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Response } from "@playwright/test";
import { expect, test } from "./support/test.ts";

// The browser tells of every refused request by itself.
test.use({ expected: /status of 401|status of 410/ });

test("a browser that is not paired is told how to get in", async ({ open, server }) => {
  const page = await open();
  const response = await page.goto(server.url);
  expect(page.url()).toBe(`${server.url}/app/`);
  expect(response?.headers()["content-security-policy"]).toContain("default-src 'self'");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Countersign");
  await expect(page.getByRole("heading", { name: "This browser is not paired yet" })).toBeVisible();
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
});

test("a link works once, pasted as well as opened", async ({ open, server }) => {
  const link = await server.pairingLink("Ada", "owner");
  const page = await open();
  await page.goto(`${server.url}/app/`);
  await page.getByLabel("Link or code").fill(link);
  await page.getByRole("button", { name: "Pair this browser" }).click();
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  await page.reload();
  await expect(page.getByText("live", { exact: true })).toBeVisible();

  const late = await open();
  await late.goto(link);
  await expect(late.getByRole("alert")).toContainText("this code is wrong, was used, or is too old");
});

test("the app works behind a path prefix", async ({ open, server }) => {
  const page = await open();
  const code = (await server.pairingLink("Ada", "owner")).split("#")[1];
  await page.goto(`${server.prefixedApp}#${code}`);
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  await expect(page.getByText("garden", { exact: true })).toBeVisible();
});

test("who signs out is out", async ({ visit }) => {
  const page = await visit();
  await page.getByRole("button", { name: "Account of Ada" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("alert")).toContainText("You signed out.");
  await page.reload();
  await expect(page.getByRole("heading", { name: "This browser is not paired yet" })).toBeVisible();
});

test("the app is small, comes from this server alone, and is kept by the browser", async ({ open, server }) => {
  test.skip(process.env["COUNTERSIGN_APP"] !== undefined, "the app is not the one that the server would send");
  const page = await open();
  const loaded: Response[] = [];
  page.on("response", (response) => loaded.push(response));
  await page.goto(await server.pairingLink("Ada", "owner"));
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  expect(loaded.map((response) => response.url()).filter((url) => !url.startsWith(server.url))).toEqual([]);
  const ofType = (type: string) => loaded.filter((response) => response.request().resourceType() === type);
  const [scripts, styles] = [ofType("script"), ofType("stylesheet")];
  expect(scripts.length).toBeGreaterThan(0);
  for (const response of [...scripts, ...styles]) expect(response.headers()["cache-control"]).toContain("immutable");
  const weigh = async (files: readonly Response[]) => {
    const sizes = await Promise.all(files.map((response) => response.request().sizes()));
    return sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
  };
  expect(await weigh(scripts), "compressed, in bytes").toBeLessThan(150 * 1024);
  expect(await weigh(styles), "compressed, in bytes").toBeLessThan(20 * 1024);
});

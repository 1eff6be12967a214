import { AxeBuilder } from "@axe-core/playwright";
import { expect } from "@playwright/test";
import { test } from "./served-build.ts";

test.beforeEach(async ({ page }) => {
  await page.route("**/api/v1/me", (route) =>
    route.fulfill({ status: 401, json: { code: "unauthorized", message: "This browser is not paired.", details: {} } }),
  );
});

test("the app starts behind a path prefix and breaks no content security policy", async ({ page, address }) => {
  const complaints: string[] = [];
  page.on("console", (message) => {
    // The browser itself tells of every refused request.
    if (message.type() === "error" && !message.text().includes("status of 401")) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));

  await page.goto(address);

  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Countersign");
  await expect(page.getByRole("heading", { name: "This browser is not paired yet" })).toBeVisible();
  expect(complaints).toEqual([]);
});

test("the first page has no accessibility violation", async ({ page, address }) => {
  await page.goto(address);
  await expect(page.getByRole("heading", { name: "This browser is not paired yet" })).toBeVisible();

  const { violations } = await new AxeBuilder({ page }).analyze();

  expect(violations).toEqual([]);
});

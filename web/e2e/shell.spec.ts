import { AxeBuilder } from "@axe-core/playwright";
import { expect } from "@playwright/test";
import { test } from "./served-build.ts";

test("the app starts behind a path prefix and breaks no content security policy", async ({ page, address }) => {
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));

  await page.goto(address);

  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Countersign");
  expect(complaints).toEqual([]);
});

test("the first page has no accessibility violation", async ({ page, address }) => {
  await page.goto(address);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();

  const { violations } = await new AxeBuilder({ page }).analyze();

  expect(violations).toEqual([]);
});

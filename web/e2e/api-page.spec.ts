/* The page to read the API, as a browser draws it. */
import { expect, test } from "./support/test.ts";

test("the page about the API shows every endpoint and what it speaks of", async ({ open, server }) => {
  const page = await open();
  await page.goto(`${server.url}/api/docs`);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("the API");

  const document = (await (await page.request.get(`${server.url}/api/openapi.json`)).json()) as {
    paths: Record<string, Record<string, unknown>>;
    components: { schemas: Record<string, unknown> };
  };
  const endpoints = Object.values(document.paths).flatMap((item) => Object.keys(item));
  const shapes = Object.keys(document.components.schemas);
  await expect(page.getByRole("article")).toHaveCount(endpoints.length + shapes.length);

  const answer = page.getByRole("article").filter({ hasText: "/api/v1/asks/{id}/answer" }).first();
  await expect(answer).toContainText("POST");
  await expect(answer).toContainText("409");
  await answer.getByRole("link", { name: "AnswerRequest" }).click();
  const shape = page.locator("#shape-AnswerRequest");
  await expect(shape).toBeInViewport();
  await expect(shape).toContainText("expires_in_s");
});

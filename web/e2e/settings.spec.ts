/* What is set for a session with an agent that has something to set: the demo agent. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { goOn, said } from "./support/page.ts";
import { expect, test } from "./support/test.ts";

async function beginWithDemoAgent(page: Page, text: string): Promise<void> {
  const field = page.getByLabel("Ask an agent to do something");
  await field.fill(text);
  await page.getByLabel("with").selectOption("demo");
  await field.press("Enter");
  await page.getByRole("list", { name: "Transcript" }).waitFor();
}

test.describe("what is set outlives a crash:", () => {
  test.use({ expected: /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED_ENCODING/ });

  test("a mode is picked, the agent works in it, and its plan is a list", async ({ visit, server }) => {
    const page = await visit();
    await beginWithDemoAgent(page, "SAY Good morning.");
    await expect(said(page, "Good morning.")).toBeVisible();
    await expect(page.getByText(/\d+ of 32,000 tokens/)).toBeVisible();

    const mode = page.getByLabel("Mode");
    await expect(mode).toHaveValue("ask");
    await mode.selectOption("plan");
    await expect(page.getByText("Ada set the mode to `plan`.")).toBeVisible();
    await expect(mode).toHaveValue("plan");
    // Not `uncheck`: the box shows what the agent has taken, a moment after the click.
    await page.getByLabel("Thoughts").click();
    await expect(page.getByText("Ada set `thoughts` to `off`.")).toBeVisible();

    await goOn(page, "Show me what you would do.");
    const plan = page.getByRole("list", { name: "Plan" });
    await expect(plan.getByRole("listitem")).toHaveCount(4);
    await expect(plan).toContainText("to do: Look around");
    expect(server.file("countersign-demo.md"), "it only plans").toBeUndefined();

    // It is the same after the server was killed, and for somebody who only looks.
    await server.kill();
    await server.restart();
    await page.reload();
    await expect(mode).toHaveValue("plan");
    const viewer = await visit({ name: "Vera", role: "viewer" });
    await viewer.goto(page.url());
    await expect(viewer.getByText("Mode: Plan")).toBeVisible();
    await expect(viewer.getByLabel("Mode")).toHaveCount(0);
  });
});

test("the agent's commands are offered while one is written, and a key takes one", async ({ visit }) => {
  const page = await visit({ browser: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } });
  await beginWithDemoAgent(page, "SAY Good evening.");
  await expect(said(page, "Good evening.")).toBeVisible();
  const field = page.getByLabel("Prompt", { exact: true });
  const list = page.getByRole("list", { name: "Commands of the agent" });

  await field.pressSequentially("/h");
  await expect(list.getByRole("button")).toHaveText([/\/help\s*Explain what the demo agent does/]);
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
  expect(violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`))).toEqual([]);
  const overhang = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(overhang, "nothing reaches over the side").toBeLessThanOrEqual(0);

  await field.press("Escape");
  await expect(list).toHaveCount(0);
  await field.press("Backspace");
  await field.press("Enter");
  await expect(field).toHaveValue("/help ");
  await field.press("Enter");
  await expect(page.getByText("I need no model, no key and no network")).toBeVisible();
});

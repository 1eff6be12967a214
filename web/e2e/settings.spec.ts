/* What is set for a session: with the demo agent, and with opencode. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { look } from "./support/looking.ts";
import { begin, goOn, said } from "./support/page.ts";
import { DESK, PHONE } from "./support/screens.ts";
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

for (const [place, browser] of [
  ["a desk", DESK],
  ["a phone", PHONE],
] as const) {
  test(`opencode's agent and model are picked, its commands are said, and what it used up is shown on ${place}`, async ({ visit, server }) => {
    const page = await visit({ browser });
    await begin(page, "FINAL Good morning.");
    await expect(said(page, "Good morning.")).toBeVisible();
    // The stub counts 100 tokens read and 20 written, at 0.10 dollars each.
    await expect(page.getByText("120 of 100,000 tokens · 0.20 USD")).toBeVisible();
    await page.getByLabel("Mode", { exact: true }).selectOption("plan");
    await expect(page.getByText("Ada set the mode to `plan`.")).toBeVisible();
    await page.getByLabel("Model").selectOption("stub/larger");
    await expect(page.getByText("Ada set the model to `stub/larger`.")).toBeVisible();
    await look(page);

    const field = page.getByLabel("Prompt", { exact: true });
    await field.pressSequentially("/wa");
    await expect(page.getByRole("list", { name: "Commands of the agent" }).getByRole("button")).toHaveText([/\/water\s*…?\s*Water what is named/]);
    await field.press("Enter");
    await field.pressSequentially(`the roses at ${place}`);
    await field.press("Enter");
    // What the command says is what the agent was told, and what is shown.
    await expect(said(page, `Watered the roses at ${place}.`)).toBeVisible();
    await expect(page.locator(".piece-prompt").last()).toContainText(`FINAL Watered the roses at ${place}.`);
    await expect(page.getByText("120 of 200,000 tokens · 0.20 USD")).toBeVisible();
    await expect(page.locator(".conversation-facts")).toContainText("plan");
    expect(server.modelWasSent('"model":"larger"')).toBe(true);
  });
}

test.describe("a command that would run something by itself", () => {
  test.use({ expected: /422/ });

  test("is not offered, and is refused with its reason", async ({ visit }) => {
    const page = await visit();
    await begin(page, "FINAL Here I am.");
    await expect(said(page, "Here I am.")).toBeVisible();
    const field = page.getByLabel("Prompt", { exact: true });
    await field.pressSequentially("/da");
    await expect(page.getByRole("list", { name: "Commands of the agent" })).toHaveCount(0);
    await field.fill("/dated");
    await field.press("Enter");
    await expect(page.getByRole("alert")).toContainText("without asking");
    await expect(field).toHaveValue("/dated");
  });
});

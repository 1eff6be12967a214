/* Two browsers, one of them a phone: what is done in one is seen in the other, and nothing is missed meanwhile. */
import type { Page } from "@playwright/test";
import { askWith, button, idOf } from "./support/page.ts";
import { expect, ROUGH, test, type Rough } from "./support/rough.ts";
import { DESK, PHONE } from "./support/screens.ts";

const asking = (command: string) => `ASK ${JSON.stringify({ title: command, input: { command } })}`;

async function visit(page: Page, { server }: Rough, name: string): Promise<void> {
  await page.goto(await server.pairingLink(name, "owner"));
  await expect(page.getByText("live", { exact: true })).toBeVisible();
}

/** Notes in the page when an ask first says who answered it. */
function watchFor(id: string): void {
  const times = ((globalThis as { times?: Record<string, number> }).times ??= {});
  new MutationObserver((_, observer) => {
    if (!/Allowed once by Ada/.test(document.querySelector(`article[data-ask="${id}"]`)?.textContent ?? "")) return;
    times[id] = Date.now();
    observer.disconnect();
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}

test("an answer at the desk is on the phone within a second, with who gave it", async ({ open, rough }) => {
  const [desk, phone] = [await open(DESK), await open(PHONE)];
  await visit(desk, rough, "Ada");
  await visit(phone, rough, "Grace");
  const commands = ["echo one-desk", "echo two-desk", "echo three-desk"];
  await rough.server.begin(ROUGH, commands.map(asking).join("\n"));
  const token = await rough.server.token("watcher", "viewer");
  const took: number[] = [];
  for (const command of commands) {
    const row = desk.locator(".row[data-state=open]").filter({ hasText: command });
    await row.getByRole("link").first().click();
    const ask = askWith(desk, command);
    const id = await idOf(ask);
    await phone.locator(`.row[data-ask="${id}"]`).getByRole("link").first().click();
    await expect(askWith(phone, command)).toBeVisible();
    await phone.evaluate(watchFor, id);
    await button(ask, "Allow once").click();
    await expect(askWith(phone, command)).toContainText("Allowed once by Ada, in a browser");
    const seen = await phone.evaluate((of) => (globalThis as { times?: Record<string, number> }).times?.[of] ?? 0, id);
    const { answer } = await rough.server.get<{ answer: { at: string } }>(`asks/${id}`, token);
    took.push(seen - Date.parse(answer.at));
    await phone.getByRole("link", { name: "Inbox" }).first().click();
  }
  // The machine may be busy with something else once or twice.
  expect(Math.min(...took), `in ms: ${took.join(", ")}`).toBeLessThan(1_000);
});

test.describe("a minute without a network", () => {
  test.use({ expected: /ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED|ERR_FAILED/ });

  test("misses nothing, says so meanwhile, and shows all of it after", async ({ open, rough }) => {
    const phone = await open(PHONE);
    // The minute passes in the page's own time.
    await phone.clock.install();
    await visit(phone, rough, "Grace");
    await rough.server.begin(ROUGH, asking("echo before-the-tunnel"));
    const before = phone.locator(".row").filter({ hasText: "echo before-the-tunnel" });
    await expect(before).toHaveAttribute("data-state", "open");

    await phone.context().setOffline(true);
    await expect(phone.getByRole("alert")).toContainText("Connection lost. What you see may be out of date.");
    const id = (await before.getAttribute("data-ask")) ?? "";
    await rough.server.answer(id, { answer: "allow_once" }, await rough.server.token("Ada", "owner"));
    const more = ["echo in-the-tunnel-1", "echo in-the-tunnel-2", "echo in-the-tunnel-3"];
    for (const command of more) await rough.server.begin(ROUGH, asking(command));
    await phone.clock.fastForward(60_000);
    await expect(before, "nothing is known of it yet").toHaveAttribute("data-state", "open");
    for (const command of more) await expect(phone.getByText(command)).toHaveCount(0);

    await phone.context().setOffline(false);
    await expect(phone.getByText("live", { exact: true })).toBeVisible();
    for (const command of more) await expect(phone.locator(".row[data-state=open]").filter({ hasText: command })).toBeVisible();
    await expect(before).toHaveAttribute("data-state", "delivered");
    await expect(before).toContainText("Ada");
    await expect(phone.getByText("Connection lost.")).toHaveCount(0);
  });
});

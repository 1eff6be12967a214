/* Who may do what: devices, rules and tokens, as somebody keeps them in order, on both screens. */
import type { Page } from "@playwright/test";
import { askWith, begin, button, said } from "./support/page.ts";
import { look } from "./support/looking.ts";
import { readCode } from "./support/qr.ts";
import { DESK, PHONE } from "./support/screens.ts";
import type { Server } from "./support/server.ts";
import { expect, test } from "./support/test.ts";

// Several dialogs are looked at in each, in the light and in the dark.
test.describe.configure({ timeout: 180_000 });

const ANDROID = "Mozilla/5.0 (Android 15; Mobile; rv:144.0) Gecko/144.0 Firefox/144.0";

async function goTo(page: Page, server: Server, part: string): Promise<void> {
  await page.goto(`${server.url}/app/#/access${part}`);
}

for (const [place, browser] of [
  ["a desk", DESK],
  ["a phone", PHONE],
] as const) {
  test.describe(`at ${place},`, () => {
    test.describe("with a device that is signed out,", () => {
      // The browser tells of every refused request by itself: when it is signed out, and when its link was used.
      test.use({ expected: /status of (?:401|410)/ });

      test("somebody pairs a phone by its QR code, which answers an ask and is signed out again", async ({ visit, open, server }) => {
        const page = await visit({ browser });
        await page.getByRole("link", { name: "Access" }).click();
        await expect(page.getByRole("listitem").filter({ hasText: "this browser" })).toContainText("Chrome on Linux");
        await look(page);

        await page.getByRole("button", { name: "Pair a phone…" }).click();
        const dialog = page.getByRole("dialog", { name: "Pair a phone" });
        await dialog.getByLabel("Who will use it").fill(`Grace at ${place}`);
        await dialog.getByLabel("approver").check();
        await look(page);
        await dialog.getByRole("button", { name: "Make the link" }).click();
        await expect(dialog.getByText("Waiting for the phone…")).toBeVisible();
        await look(page);
        const link = (await readCode(dialog.locator("svg.qr"))) ?? "";
        expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/some\/prefix\/app\/#pair=[0-9a-f]{64}$/);
        expect(await dialog.getByLabel("Or open this link there").inputValue()).toBe(link);

        const phone = await open({ ...PHONE, userAgent: ANDROID });
        await phone.goto(link);
        await phone.getByText("live", { exact: true }).waitFor();
        await expect(dialog).toContainText(`Paired: Grace at ${place}, Firefox on Android.`);
        await look(page);
        await dialog.getByRole("button", { name: "Close" }).click();

        await page.goto(`${server.url}/app/#/`);
        const name = `scanned-${place.slice(2)}.txt`;
        await begin(page, `TOOL bash: echo scanned > ${name}`, "FINAL Scanned.");
        await phone.getByRole("link", { name: new RegExp(name) }).click();
        await button(askWith(phone, name), "Allow once").click();
        await expect(said(page, "Scanned.")).toBeVisible();
        await expect.poll(() => server.file(name)).toBe("scanned\n");
        await expect(askWith(phone, name)).toContainText("Allowed once by you");

        // The link is used up.
        const late = await open(PHONE);
        await late.goto(link);
        await expect(late.getByText("This browser is not paired yet")).toBeVisible();

        await goTo(page, server, "");
        const device = page.getByRole("listitem").filter({ hasText: `Grace at ${place}` });
        await expect(device).toContainText("Firefox on Android");
        await expect(device).toContainText("approver");
        await expect(device).toContainText("last seen just now");
        await device.getByRole("button", { name: `Sign out Grace at ${place}, Firefox on Android` }).click();
        const sure = page.getByRole("dialog", { name: "Sign this browser out?" });
        await look(page);
        await sure.getByRole("button", { name: "Sign out" }).click();
        await expect(device).toHaveCount(0);
        await expect(phone.getByText("This browser is not paired yet")).toBeVisible();
        await page.getByText(/No longer valid/).click();
        await expect(device).toContainText("taken back just now");
      });
    });

    test("whoever came to the machine itself is told why a phone could not, and what to do", async ({ visit, server }) => {
      const page = await visit({ browser });
      await page.route("**/api/v1/pairings", async (route) => {
        const response = await route.fetch();
        const { remote_link: _, ...pairing } = (await response.json()) as { remote_link?: string };
        await route.fulfill({ response, json: pairing });
      });
      await goTo(page, server, "");
      await page.getByRole("button", { name: "Pair a phone…" }).click();
      const dialog = page.getByRole("dialog", { name: "Pair a phone" });
      await dialog.getByRole("button", { name: "Make the link" }).click();
      await expect(dialog).toContainText("A phone cannot reach this server yet");
      await expect(dialog).toContainText("public_url");
      await expect(dialog.locator("svg.qr")).toHaveCount(0);
      await look(page);
    });

    test("a rule is made with its preview in sight, answers, is given an end and is revoked", async ({ visit, server }) => {
      const page = await visit({ browser });
      const folder = `beds-${place.slice(2)}`;
      await begin(page, `TOOL write: ${folder}/roses.txt <<< red`, "FINAL Planted.");
      await button(askWith(page, "wants to change a file"), "Allow once").click();
      await expect(said(page, "Planted.")).toBeVisible();

      await goTo(page, server, "/rules");
      await page.getByRole("button", { name: "New rule…" }).click();
      const dialog = page.getByRole("dialog", { name: "New rule" });
      await dialog.getByLabel("Tool").fill("bash");
      await expect(dialog.getByLabel("Everything like a pattern")).toHaveCount(0);
      await dialog.getByLabel("Tool").fill("edit");
      await dialog.getByLabel("Everything like a pattern").check();
      await dialog.getByLabel("Pattern", { exact: true }).fill(`**/${folder}/**`);
      const preview = dialog.getByRole("region", { name: "What it would have matched" });
      await expect(preview).toContainText("It would have matched 1 ask in the last 7 days");
      await expect(preview).toContainText("roses.txt");
      await look(page);
      await dialog.getByRole("button", { name: "Make the rule" }).click();
      const rule = page.getByRole("listitem").filter({ hasText: folder });
      await expect(rule).toContainText("everything like");
      await expect(rule).toContainText("by Ada");
      await look(page);

      await page.goto(`${server.url}/app/#/`);
      await begin(page, `TOOL write: ${folder}/beans.txt <<< green`, "FINAL By rule.");
      await expect(said(page, "By rule.")).toBeVisible();
      await expect.poll(() => server.file(`${folder}/beans.txt`)).toBeDefined();

      await goTo(page, server, "/rules");
      await rule.getByRole("button", { name: /^End the rule/ }).click();
      const end = page.getByRole("dialog", { name: "When does this rule end?" });
      await expect(end.getByLabel("7 days"), "it ends before that").toHaveCount(0);
      await end.getByLabel("1 hour").check();
      await look(page);
      await end.getByRole("button", { name: "Let it end then" }).click();
      await expect(end).toHaveCount(0);
      await expect(rule).toContainText("ends");

      await rule.getByRole("button", { name: /^Revoke the rule/ }).click();
      await page.getByRole("dialog", { name: "Revoke this rule?" }).getByRole("button", { name: "Revoke" }).click();
      await expect(page.locator(".record-list").first().getByText(folder)).toHaveCount(0);
      await page.getByText(/No longer valid/).click();
      await expect(rule).toContainText("taken back");
    });

    test("a token is made, is shown once, opens what its role allows and is revoked", async ({ visit, server }) => {
      const page = await visit({ browser });
      await goTo(page, server, "/tokens");
      const name = `watering at ${place}`;
      await page.getByRole("button", { name: "New token…" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name").fill(name);
      await dialog.getByLabel("viewer").check();
      await dialog.getByLabel("Where").selectOption({ label: "garden" });
      await dialog.getByLabel("1 day").check();
      await look(page);
      await dialog.getByRole("button", { name: "Make the token" }).click();
      const shown = dialog.getByLabel("Token", { exact: true });
      await expect(shown).toHaveValue(/^cs_[0-9a-f]{64}$/);
      const secret = await shown.inputValue();
      await page.keyboard.press("Escape");
      await expect(dialog, "it is not lost by a slip").toBeVisible();
      await look(page);
      await dialog.getByRole("button", { name: "I have kept it" }).click();

      const call = () => fetch(`${server.url}/api/v1/tokens`, { headers: { Authorization: `Bearer ${secret}` } });
      expect((await call()).status, "a viewer sees no tokens").toBe(403);
      expect(await server.get<{ workspaces: unknown[] }>("workspaces", secret)).toHaveProperty("workspaces.length", 1);
      const token = page.getByRole("listitem").filter({ hasText: name });
      await page.reload();
      await expect(token).toContainText("last used just now");
      await expect(token).toContainText("garden");
      expect(await page.content()).not.toContain(secret);
      await look(page);
      await token.getByRole("button", { name: `Revoke the token ${name}` }).click();
      await page.getByRole("dialog", { name: "Revoke this token?" }).getByRole("button", { name: "Revoke" }).click();
      await expect.poll(async () => (await call()).status).toBe(401);
    });

    test("a viewer sees the rules and what its role means, and no button that it may not press", async ({ visit, server }) => {
      const owner = await server.token("Grace", "owner");
      const made = await fetch(`${server.url}/api/v1/rules`, {
        method: "POST",
        headers: { Authorization: `Bearer ${owner}`, "Content-Type": "application/json" },
        body: JSON.stringify({ tool: "edit", verdict: "deny", match: "glob", pattern: `secrets-${place.slice(2)}/**` }),
      });
      expect(made.status).toBe(201);
      const page = await visit({ browser, name: "Vera", role: "viewer" });
      const main = page.getByRole("main");
      await goTo(page, server, "");
      await expect(main).toContainText("Paired as Vera, with the role viewer.");
      await expect(main.getByRole("button")).toHaveCount(0);
      await look(page);
      await goTo(page, server, "/rules");
      await expect(main.getByRole("listitem").filter({ hasText: `secrets-${place.slice(2)}` })).toContainText("Deny");
      await expect(main.getByRole("button")).toHaveCount(0);
      await look(page);
      await goTo(page, server, "/tokens");
      await expect(main).toContainText("you need the grant administer");
      await expect(main.getByRole("button")).toHaveCount(0);
      await goTo(page, server, "/roles");
      await expect(main.getByRole("heading", { name: "viewer yours" })).toBeVisible();
      await expect(main).toContainText("Looks on");
      await look(page);
    });
  });
}

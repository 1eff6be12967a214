/* The inbox as somebody works through it: at a desk by keyboard, and on a phone by touch. */
import type { Locator, Page } from "@playwright/test";
import { askWith, begin, button, idOf } from "./support/page.ts";
import { look } from "./support/looking.ts";
import { DESK, PHONE } from "./support/screens.ts";
import { expect, test } from "./support/test.ts";
import type { Server } from "./support/server.ts";

/** Has one session ask for each of these commands, one after the other, and goes to the inbox. */
async function askFor(page: Page, server: Server, ...commands: string[]): Promise<void> {
  for (const command of commands) {
    await page.goto(`${server.url}/app/#/`);
    await begin(page, `TOOL bash: ${command}`, "FINAL Done.");
    await expect(askWith(page, command)).toBeVisible();
  }
  await page.goto(`${server.url}/app/#/`);
}

const row = (page: Page, text: string): Locator => page.locator(".rows:not(.rows-settled) > .row").filter({ hasText: text });
const panel = (page: Page): Locator => page.getByRole("article");

async function open(page: Page, text: string): Promise<Locator> {
  await row(page, text).getByRole("link").click();
  return askWith(page, text);
}

for (const [place, browser] of [
  ["a desk", DESK],
  ["a phone", PHONE],
] as const) {
  test.describe(`at ${place},`, () => {
    test("asks that are alike get one answer and several deliveries", async ({ visit, server }) => {
      const page = await visit({ browser });
      const name = `alike-${place.slice(2)}.txt`;
      const command = `echo alike >> ${name}`;
      await askFor(page, server, command, command, command);
      await expect(row(page, command)).toHaveCount(1);
      await expect(row(page, command)).toContainText("3 alike");
      const ask = await open(page, command);
      await expect(ask).toContainText("Asked alike in 3 sessions");
      await look(page);

      await button(ask, "Allow all 3 once").click();
      await expect(ask).toContainText("One answer, 3 deliveries");
      await expect(ask.locator(".group-member[data-state=delivered]")).toHaveCount(3);
      await expect.poll(() => server.file(name)).toBe("alike\nalike\nalike\n");
      await look(page);
      await page.goto(`${server.url}/app/#/`);
      await expect(row(page, command)).toContainText("3 of 3 delivered");
    });

    test.describe("when others answer too,", () => {
      // The browser tells of every refused request by itself.
      test.use({ expected: /status of 409/ });

      test("one that somebody else answers otherwise falls out of its group and says so", async ({ visit, server }) => {
        const page = await visit({ browser });
        const command = `echo dissent-${place.slice(2)}`;
        await askFor(page, server, command, command, command);
        const ask = await open(page, command);
        await expect(button(ask, "Allow all 3 once")).toBeVisible();
        const third = await ask.locator(".group-member").last().getAttribute("data-ask");
        const token = await server.token("Grace", "collaborator");
        // Grace's answer is there before this page's one is.
        await page.route(`**/asks/${third}/answer`, async (route) => {
          await server.answer(third ?? "", { answer: "deny", reason: "Not a third time" }, token);
          await route.continue();
        });
        await button(ask, "Allow all 3 once").click();
        await expect(ask).toContainText("One answer, 2 deliveries");

        await page.goto(`${server.url}/app/#/`);
        await expect(row(page, command)).toHaveCount(2);
        const fallen = row(page, command).filter({ hasText: "Went another way than the 2 that it was answered with" });
        await expect(fallen).toContainText("Denied by Grace, over HTTP");
        await expect(row(page, command).filter({ hasText: "2 of 2 delivered" })).toHaveCount(1);
        await look(page);
      });
    });

    test("one can be taken out of its group and answered alone", async ({ visit, server }) => {
      const page = await visit({ browser });
      const command = `echo apart-${place.slice(2)}`;
      await askFor(page, server, command, command, command);
      const ask = await open(page, command);
      await ask.locator(".group-member").last().getByRole("checkbox").uncheck();
      await button(ask, "Deny all 2").click();
      await expect(ask).toContainText("Denied by you");
      await page.goto(`${server.url}/app/#/`);
      await expect(row(page, command)).toHaveCount(2);
      await row(page, command).last().getByRole("link").click();
      await button(panel(page), "Allow once").click();
      await expect(panel(page)).toContainText("Delivered");
    });

    test("several are selected, named, confirmed once, and answered", async ({ visit, server }) => {
      const page = await visit({ browser });
      const [first, second, third] = ["one", "two", "three"].map((each) => `echo select-${each}-${place.slice(2)}`) as [string, string, string];
      await askFor(page, server, first, second, third);
      await page.getByRole("button", { name: "Select", exact: true }).click();
      await row(page, first).getByRole("checkbox").check();
      await row(page, third).getByRole("checkbox").check();
      await expect(page.getByText("2 asks selected")).toBeVisible();
      await look(page);
      await page.getByRole("button", { name: "Deny…" }).click();
      const dialog = page.getByRole("dialog", { name: "Deny 2 asks?" });
      await expect(dialog.getByRole("listitem")).toHaveCount(2);
      await expect(dialog).toContainText(first);
      await expect(dialog).toContainText(third);
      await expect(dialog).not.toContainText(second);
      await look(page);
      await dialog.getByLabel("Reason, for all of them").fill("Not these two");
      await dialog.getByRole("button", { name: "Deny 2 asks" }).click();

      for (const command of [first, third]) await expect(row(page, command)).toContainText("Denied by you, delivered");
      await expect(page.getByText("2 answers accepted"), "it is said to who does not see the rows").toBeAttached();
      await expect(row(page, second)).toHaveAttribute("data-state", "open");
      await expect.poll(() => server.modelWasSent("Not these two")).toBe(true);
      await (await open(page, second)).getByRole("button", { name: "Deny" }).and(page.locator(":not([aria-disabled=true])")).click();
      await expect(askWith(page, second)).toContainText("Delivered");
    });

    test("the list is searched and filtered, and says what it leaves out", async ({ visit, server }) => {
      const page = await visit({ browser });
      const [wanted, other] = [`echo wanted-${place.slice(2)}`, `echo other-${place.slice(2)}`];
      await askFor(page, server, wanted, other);
      await page.getByLabel("Search asks").fill("wanted");
      await expect(row(page, wanted)).toHaveCount(1);
      await expect(row(page, other)).toHaveCount(0);
      await expect(page.getByText("1 of 2 shown")).toBeVisible();
      await page.getByLabel("Search asks").fill("");
      await page.getByRole("button", { name: "Filter" }).click();
      await page.getByLabel("Tool").selectOption({ label: "bash (2)" });
      await look(page);
      await page.keyboard.press("Escape");
      await expect(page.getByRole("button", { name: "Filter, 1 chosen" })).toBeVisible();
      await page.getByLabel("Search asks").fill("nothing is like this");
      await expect(page.getByText("Nothing that waits fits what you look for.")).toBeVisible();
      await page.getByRole("button", { name: "Clear" }).click();
      for (const command of [wanted, other]) {
        await expect(row(page, command)).toHaveCount(1);
        await button(await open(page, command), "Deny").click();
        await expect(askWith(page, command)).toContainText("Delivered");
        await page.goto(`${server.url}/app/#/`);
      }
    });

    test("the history has what was settled, with its delivery, and is read back page by page", async ({ visit, server }) => {
      const page = await visit({ browser });
      const [older, command] = [`echo older-${place.slice(2)}`, `echo past-${place.slice(2)}`];
      for (const each of [older, command]) {
        await askFor(page, server, each);
        await button(await open(page, each), "Allow once").click();
        await expect(askWith(page, each)).toContainText("Delivered");
      }
      // A page of one, where the server would give fifty.
      const read: string[] = [];
      await page.route("**/api/v1/asks?limit=50**", (route) => {
        read.push(route.request().url());
        return route.continue({ url: route.request().url().replace("limit=50", "limit=1") });
      });

      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Inbox" }).click();
      await page.getByRole("link", { name: "History" }).click();
      const entries = page.locator(".rows-history > .row");
      const past = entries.filter({ hasText: command });
      await expect(past).toContainText("Allowed once by you, delivered");
      await expect(past).toContainText(/answered after .*, delivered/);
      await expect(entries.filter({ hasText: older })).toHaveCount(1);
      expect(read.filter((url) => url.includes("before=")).length, "one after the other").toBeGreaterThan(0);
      const [known, more] = [await entries.count(), page.getByRole("button", { name: "Earlier" })];
      if (await more.isVisible()) {
        await more.click();
        await expect.poll(() => entries.count()).toBeGreaterThan(known);
      }
      await look(page);
      await page.getByLabel("Search asks").fill(command);
      await expect(entries).toHaveCount(1);
      await page.getByRole("button", { name: "Withdrawn" }).click();
      await expect(past).toHaveCount(0);
      await page.getByRole("button", { name: "All", exact: true }).click();
      await past.getByRole("link").click();
      await expect(panel(page)).toContainText("Allowed once by you");
      await expect(panel(page)).toContainText("the engine announced permission.replied");
      await expect(page).toHaveURL(new RegExp(`#/history/${await idOf(panel(page))}$`));
      await look(page);
    });
  });
}

test("by keyboard alone: down the list, search, select, allow, and back", async ({ visit, server }) => {
  const page = await visit({ browser: DESK });
  const commands = ["echo keys-one", "echo keys-two", "echo keys-three"];
  await askFor(page, server, ...commands);
  await page.keyboard.press("/");
  await page.keyboard.type("keys");
  await page.keyboard.press("Escape");
  await expect(page.getByLabel("Search asks")).not.toBeFocused();
  await expect(row(page, "echo keys-one")).toHaveClass(/row-current/);
  await page.keyboard.press("x");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await expect(page.getByText("2 asks selected")).toBeVisible();
  // What is selected is meant, and not the ask that is shown.
  await page.keyboard.press("a");
  const dialog = page.getByRole("dialog", { name: "Allow 2 asks once?" });
  await expect(dialog).toContainText("echo keys-two");
  await expect(row(page, "echo keys-two")).toHaveAttribute("data-state", "open");
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await page.keyboard.press("a");
  await expect(dialog.getByRole("button", { name: "Allow 2 asks" })).toBeFocused();
  await page.keyboard.press("Enter");
  for (const command of commands.slice(0, 2)) await expect(row(page, command)).toContainText("delivered");

  await page.keyboard.press("j");
  await expect(askWith(page, "echo keys-three")).toBeVisible();
  await expect(button(askWith(page, "echo keys-three"), "Allow once")).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/#\/asks\/ask_/);
  await page.keyboard.press("a");
  await expect(askWith(page, "echo keys-three")).toContainText("Delivered");
  await page.keyboard.press("Escape");
  await expect(page).toHaveURL(/#\/$/);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keys" })).toContainText("Select the ask, to answer several together");
});

test("an answer can be taken back while it is held, and is sent after that", async ({ visit, server }) => {
  const page = await visit({ browser: DESK });
  const sent: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/answer")) sent.push(request.url());
  });
  await askFor(page, server, "echo undone");
  await page.getByRole("button", { name: "Account of Ada" }).click();
  await page.getByRole("button", { name: "Settings of this browser…" }).click();
  await page.getByLabel("30 s").check();
  const ground = () => page.locator("body").evaluate((body) => getComputedStyle(body).backgroundColor);
  const light = await ground();
  await page.getByLabel("Dark", { exact: true }).check();
  await expect.poll(ground, "whatever the system says").not.toBe(light);
  await look(page);
  await page.getByLabel("As the system").check();
  await page.getByRole("button", { name: "Close" }).click();
  // It is a wish of this browser, and outlives the page.
  await page.reload();
  const ask = askWith(page, "echo undone");
  await button(ask, "Allow once").click();
  await expect(ask).toContainText("Your answer is not sent yet.");
  await expect(page.getByRole("status", { name: "Answers that are not sent yet" })).toContainText("Allowing echo undone");
  await look(page);
  await page.keyboard.press("u");
  await expect(button(ask, "Allow once")).toBeVisible();
  expect(sent, "nothing left the page").toEqual([]);

  await button(ask, "Allow once").click();
  await page.getByRole("button", { name: "Send now" }).click();
  await expect(ask).toContainText("Delivered");
  expect(sent).toHaveLength(1);
});

test("an ask that waits is brought to mind, and one that runs out is counted down", async ({ visit, server }) => {
  const page = await visit({
    browser: DESK,
    prepare: async (fresh) => {
      await fresh.clock.install();
      // One of the asks runs out in half an hour; this server's run out never.
      await fresh.route(/\/api\/v1\/asks(\/ask_\w+)?(\?.*)?$/, async (route) => {
        const response = await route.fetch();
        const expires_at = new Date(Date.now() + 30 * 60_000).toISOString().replace("Z", "000Z");
        const text = (await response.text()).replaceAll('"summary":"echo ending"', `"summary":"echo ending","expires_at":"${expires_at}"`);
        await route.fulfill({ response, body: text });
      });
    },
  });
  await askFor(page, server, "echo ending", "echo patient");
  await expect(row(page, "echo ending").locator(".countdown")).toContainText(/expires in (29|30) min/);
  await expect(row(page, "echo patient").locator(".countdown")).toHaveCount(0);
  await page.evaluate(() => localStorage.setItem("countersign.preferences", '{"remind":15}'));
  await page.reload();
  await expect(row(page, "echo ending")).toBeVisible();
  await page.clock.fastForward(16 * 60_000);
  const reminder = page.getByRole("alert").filter({ hasText: "2 asks have waited for 15 minutes or longer." });
  await expect(reminder).toBeVisible();
  await look(page);
  await reminder.getByRole("button", { name: "Later" }).click();
  await expect(reminder).toHaveCount(0);
  await page.clock.fastForward(12 * 60_000);
  await expect(page.getByRole("alert").filter({ hasText: "1 ask will run out within 5 minutes" })).toBeVisible();
  await expect(row(page, "echo ending").locator(".countdown-urgent")).toBeVisible();
  await look(page);
  // Time alone takes nothing away.
  await page.clock.fastForward(60 * 60_000);
  await expect(row(page, "echo ending").locator(".countdown")).toHaveText("expiring now");
  const token = await server.token("Grace", "collaborator");
  for (const command of ["echo ending", "echo patient"]) {
    const id = await row(page, command).getAttribute("data-ask");
    await server.answer(id ?? "", { answer: "deny" }, token);
    await expect(row(page, command)).toContainText("Denied by Grace");
  }
});

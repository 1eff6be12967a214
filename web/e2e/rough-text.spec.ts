/* What a hostile agent says changes nothing outside its box, however it is written and however much it is. */
import type { CDPSession, Page } from "@playwright/test";
import { pieces, said } from "./support/page.ts";
import { ROUGH, expect, test } from "./support/rough.ts";
import { DESK } from "./support/screens.ts";

const HOSTILE = [
  "<script>document.title = 'taken over'</script>",
  "<img src=x onerror=\"document.title = 'taken over'\">",
  "<svg onload=\"document.title = 'taken over'\"></svg>",
  "<style>body { display: none }</style><link rel=stylesheet href=https://evil.example/x.css>",
  "<iframe src=https://evil.example></iframe><form action=https://evil.example><button>Allow once</button></form>",
  "[click me](javascript:document.title='taken%20over') ![pixel](https://evil.example/pixel.png)",
  "</li></ol></div><h1 id=app>Countersign</h1>",
  "\u001b[2J\u001b[31mred\u001b[0m \u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007",
  "harmless\u202Egpj.exe\u2066 \u200Bhidden\u00AD",
  `${"\u0301".repeat(500)}Z${"\u0489".repeat(500)}`,
  "𒐫".repeat(2_000),
];

/** What belongs to the page and not to the agent: where it stands, and what it says. */
async function surroundings(page: Page): Promise<unknown> {
  return page.evaluate(() => ({
    title: document.title.replace(/^\(\d+\) /, ""),
    bar: document.querySelector(".bar")?.getBoundingClientRect().toJSON() as unknown,
    foot: document.querySelector(".conversation-foot")?.getBoundingClientRect().toJSON() as unknown,
    strangers: document.querySelectorAll("script:not([src]), style, iframe, object, form[action], [onerror], [onload], a[href^='javascript:']").length,
    width: document.documentElement.scrollWidth,
  }));
}

/** How many elements the page has, and how much memory its scripts hold once everything is thrown away that can be. */
async function size(session: CDPSession): Promise<{ nodes: number; megabytes: number }> {
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  const metric = (name: string) => metrics.find((one) => one.name === name)?.value ?? 0;
  return { nodes: metric("Nodes"), megabytes: metric("JSHeapUsedSize") / 2 ** 20 };
}

async function measure(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  return session;
}

test("words, calls and asks that try to be more than that stay what they are", async ({ open, rough: { server } }) => {
  const outside: string[] = [];
  const page = await open(DESK);
  page.on("request", (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith("blob:")) outside.push(request.url());
  });
  page.on("dialog", (dialog) => outside.push(dialog.message()));
  await page.goto(await server.pairingLink("Ada", "owner"));
  const hostileWords = HOSTILE.map((text) => `SAY ${JSON.stringify(`${text}\n\n`)}`);
  const quiet = await server.begin(ROUGH, 'SAY "Nothing wrong here."');
  await page.goto(`${page.url().split("#")[0]}#/sessions/${quiet}`);
  await expect(said(page, "Nothing wrong here.")).toBeVisible();
  const before = await surroundings(page);

  const ask = `ASK ${JSON.stringify({ title: HOSTILE.join(" "), input: { command: HOSTILE.join("\n") } })}`;
  const hostile = await server.begin(ROUGH, ["CALLS 3 1000", ...hostileWords, ask].join("\n"));
  await page.goto(`${page.url().split("#")[0]}#/sessions/${hostile}`);
  await expect(pieces(page).filter({ hasText: "taken over" }).first()).toBeVisible();
  const asked = page.getByRole("article");
  await expect(asked).toContainText("⟨U+202E⟩");
  await expect(asked).toContainText("<script>");
  expect(await surroundings(page)).toEqual(before);
  expect(await page.getByRole("list", { name: "Transcript" }).locator("img, script, iframe, style").count()).toBe(0);
  await page.getByRole("link", { name: "Inbox" }).first().click();
  await expect(page.locator(".rows .row").first()).toContainText("<script>");
  expect(outside).toEqual([]);
});

test("ten million letters in one breath are told, shown in portions, and scroll", async ({ open, rough: { server } }) => {
  const page = await open(DESK);
  await page.goto(await server.pairingLink("Ada", "owner"));
  const session = await server.begin(ROUGH, 'LONG 10000000\nSAY "\\n\\nThe end of it."');
  await page.goto(`${page.url().split("#")[0]}#/sessions/${session}`);
  await expect(page.locator("[data-activity=idle]")).toBeVisible({ timeout: 60_000 });
  // The server writes so much down in several pieces.
  const more = page.getByRole("button", { name: /The first 20000 of \d+ characters are shown/ }).first();
  await expect(more).toBeVisible();
  const cdp = await measure(page);
  expect((await size(cdp)).nodes).toBeLessThan(5_000);
  await more.click();
  await expect(page.getByRole("button", { name: /The first 80000 of \d+ characters/ })).toBeVisible();
  await expect(page.getByRole("heading", { name: ROUGH })).toBeVisible();
});

test("of a hundred thousand tool calls those in sight are drawn, and the rest can be had", async ({ open, rough: { server } }) => {
  test.setTimeout(480_000);
  const CALLS = 100_000;
  const page = await open(DESK);
  await page.goto(await server.pairingLink("Ada", "owner"));
  const session = await server.begin(ROUGH, `CALLS ${CALLS} 1000000\nSAY "All called."`);
  await page.goto(`${page.url().split("#")[0]}#/sessions/${session}`);
  await expect(said(page, "All called.")).toBeVisible({ timeout: 400_000 });
  await expect(page.locator("[data-activity=idle]")).toBeVisible({ timeout: 60_000 });
  const rows = page.locator(".transcript > li");
  expect(await rows.count()).toBeLessThan(200);
  const cdp = await measure(page);
  const { nodes, megabytes } = await size(cdp);
  expect(nodes).toBeLessThan(8_000);
  expect(megabytes).toBeLessThan(64);

  // The last one, one far up, and those before what is held.
  await expect(rows.filter({ hasText: `call ${CALLS - 1} <` })).toBeVisible();
  const box = page.locator(".conversation-scroll");
  await box.evaluate((element) => element.scrollTo(0, element.scrollHeight / 2));
  await expect(rows.filter({ hasText: /call 99[2-7]\d\d </ }).first()).toBeVisible();
  const where = await rows.nth(5).getAttribute("aria-posinset");
  expect(Number(where)).toBeGreaterThan(100);
  expect(Number(await rows.nth(5).getAttribute("aria-setsize"))).toBeGreaterThan(900);
  await box.evaluate((element) => element.scrollTo(0, 0));
  await page.getByRole("button", { name: "Show what was said before" }).click();
  await box.evaluate((element) => element.scrollTo(0, 0));
  await expect(rows.filter({ hasText: /call 980\d\d <|call 979\d\d </ }).first()).toBeVisible();
  expect(await rows.count()).toBeLessThan(200);

  // Words are found among them, and who looks for what nobody said is told so before long.
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Sessions" }).click();
  const search = page.getByRole("searchbox", { name: "Search sessions and transcripts" });
  const found = page.getByRole("region", { name: "In transcripts" });
  const began = performance.now();
  await search.fill("heliotrope");
  await expect(found).toContainText(/Nothing in .*1\d\d,\d\d\d pieces/);
  expect(performance.now() - began, "milliseconds to look through a hundred thousand pieces").toBeLessThan(10_000);
  await search.fill("called all");
  await expect(found.locator("mark").first()).toBeVisible();
});

test("while a thousand events a second arrive for ten seconds the page answers a click and does not grow", async ({ open, rough: { server } }) => {
  test.setTimeout(180_000);
  const page = await open(DESK);
  await page.goto(await server.pairingLink("Ada", "owner"));
  const session = await server.begin(ROUGH, "CALLS 10000 1000\nSAY \"Enough.\"");
  await page.goto(`${page.url().split("#")[0]}#/sessions/${session}`);
  const calls = page.locator(".transcript .call");
  await expect(calls.first()).toBeVisible();
  const cdp = await measure(page);
  let [clicks, slowest] = [0, 0];
  const enough = said(page, "Enough.");
  while (!(await enough.isVisible())) {
    const began = Date.now();
    await page.getByRole("button", { name: "Account of Ada" }).click();
    await expect(page.getByRole("button", { name: "Sign out" })).toBeVisible();
    await page.getByRole("button", { name: "Account of Ada" }).click();
    await expect(page.getByRole("button", { name: "Sign out" })).toBeHidden();
    slowest = Math.max(slowest, Date.now() - began);
    clicks += 1;
    const { nodes, megabytes } = await size(cdp);
    expect(nodes, "elements").toBeLessThan(8_000);
    expect(megabytes, "MiB of scripts").toBeLessThan(64);
  }
  // Ten seconds are the least that it takes: a page that stands still until all of it is over answers no sooner.
  expect(clicks).toBeGreaterThan(0);
  expect(slowest, "the slowest click to open and to close, in ms").toBeLessThan(8_000);
  const { items } = await server.get<{ items: { seq: number }[] }>(`sessions/${session}/items?last=1`, await server.token("counter", "viewer"));
  expect(items[0]?.seq, "all of it came").toBeGreaterThan(10_000);
  await expect(calls.filter({ hasText: "call 9999 <" })).toBeVisible();
});

test("many asks are gone through by keyboard, and each row says which of how many it is", async ({ open, rough: { server } }) => {
  test.setTimeout(120_000);
  const page = await open(DESK);
  await page.goto(await server.pairingLink("Ada", "owner"));
  const session = await server.begin(ROUGH, "ASKS 200");
  const token = await server.token("Grace", "owner");
  try {
    const rows = page.locator(".rows:not(.rows-settled) > .row");
    await expect.poll(async () => Number(await rows.first().getAttribute("aria-setsize"))).toBeGreaterThanOrEqual(200);
    expect(await rows.count()).toBeLessThan(100);
    for (let press = 0; press < 100; press += 1) await page.keyboard.press("j");
    const current = page.locator(".row-current");
    await expect(current).toBeInViewport();
    const place = Number(await current.getAttribute("aria-posinset"));
    expect(place).toBeGreaterThan(100);
    await expect(page.getByRole("article")).toContainText((await current.locator(".row-summary").textContent()) ?? "");

    // The row that has the focus stays, wherever somebody scrolls.
    await current.getByRole("link").focus();
    await page.locator(".pane-list").evaluate((pane) => pane.scrollTo(0, 0));
    await expect(rows.filter({ hasText: "echo thing-0" }).first()).toBeInViewport();
    await expect(current.getByRole("link")).toBeFocused();
  } finally {
    await server.post(`sessions/${session}/cancel`, {}, token);
  }
});

/* Sessions as people read them: what was said, found again, queued, and on the screen that is at hand. */
import type { Page } from "@playwright/test";
import { look } from "./support/looking.ts";
import { askWith, begin, button, goOn, pieces, said } from "./support/page.ts";
import { DESK, PHONE } from "./support/screens.ts";
import { expect, test } from "./support/test.ts";

const SCREENS = [
  ["a desk", DESK],
  ["a phone", PHONE],
] as const;

/** What an agent might write to be read as more than words. */
const TEXT = [
  "## What I did",
  "",
  "1. Looked at `beds.txt`, which is **dry**",
  "2. Watered it, see [the guide](https://example.com/water) and [this](javascript:alert(1))",
  "",
  "- [x] carrots",
  "- [ ] peas",
  "",
  "| bed | litres |",
  "|---|---:|",
  "| north | 12 |",
  "",
  "```sh",
  "for bed in *; do water \"$bed\"; done",
  "```",
  "",
  "> Nothing else was touched.",
  "",
  "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script><style>body{display:none}</style>",
  "![a map](https://example.com/map.png) \u202Egnp.exe",
].join("\n");

async function openSessions(page: Page): Promise<void> {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Sessions" }).click();
}

async function beginWithDemo(page: Page, text: string): Promise<void> {
  await openSessions(page);
  await page.getByLabel("Ask an agent to do something").fill(text);
  await page.getByLabel("with").selectOption("demo");
  await page.getByRole("button", { name: "Send" }).first().click();
}

for (const [place, browser] of SCREENS) {
  const name = place.replace("a ", "");

  test(`what an agent writes is drawn as Markdown on ${place}, and never as HTML`, async ({ visit, server }) => {
    server.writeFile(`${name}.md`, TEXT);
    const page = await visit({ browser });
    await begin(page, `TOOL bash: cat ${name}.md`, "ECHO");
    await button(askWith(page, `cat ${name}.md`), "Allow once").click();

    const prose = pieces(page).locator(".prose");
    await expect(prose.getByRole("heading", { name: "What I did" })).toBeVisible();
    await expect(prose.getByRole("listitem").filter({ hasText: "Looked at" }).locator("strong")).toHaveText("dry");
    await expect(prose.getByRole("cell", { name: "12" })).toBeVisible();
    await expect(prose.locator("pre")).toHaveText('for bed in *; do water "$bed"; done');
    await expect(prose.getByText("done: ", { exact: false }).first()).toBeAttached();
    const links = prose.getByRole("link");
    await expect(links).toHaveText(["the guide", "a map"]);
    await expect(links.first()).toHaveAttribute("href", "https://example.com/water");
    await expect(prose).toContainText("the guide (example.com)");
    await expect(prose).toContainText("[this](javascript:alert(1))");
    // What would have been an element is text, and what would have been hidden is seen.
    await expect(prose).toContainText("<img src=x onerror=");
    await expect(prose).toContainText("⟨U+202E⟩");
    expect(await page.locator(".transcript :is(img, script, style, iframe)").count()).toBe(0);
    expect(await page.title()).not.toContain("taken");
    await look(page);
  });

  test(`a word that was said is found on ${place}, and leads to where it was said`, async ({ visit }) => {
    const page = await visit({ browser });
    const word = `heliotrope-${name}`;
    await begin(page, `FINAL We planted a ${word} by the pond.`);
    await expect(said(page, `We planted a ${word} by the pond.`)).toBeVisible();
    await openSessions(page);
    // A key leads to the search, at a desk as well as with a keyboard at a phone.
    await page.keyboard.press("/");
    await expect(page.getByRole("searchbox", { name: "Search sessions and transcripts" })).toBeFocused();
    await page.keyboard.type(`${word.toUpperCase()} planted`);
    const found = page.getByRole("region", { name: "In transcripts" });
    // It was said twice: by the prompt, and by the agent.
    await expect(found.locator("mark").filter({ hasText: word })).toHaveCount(2);
    await expect(found).toContainText(/2 places in all [\d,]+ pieces\./);
    await look(page);
    await found.getByRole("link").filter({ hasText: "said by the agent" }).click();
    const piece = page.locator(".piece:focus");
    await expect(piece).toContainText(`We planted a ${word}`);
    await expect(piece).toBeInViewport();

    await openSessions(page);
    const field = page.getByRole("searchbox", { name: "Search sessions and transcripts" });
    await field.fill("nobody ever said this");
    await expect(found).toContainText("Nothing in");
    await expect(page.getByText("No session is called like that.")).toBeVisible();
    await field.press("Escape");
    await expect(found).toHaveCount(0);
  });
}

/** The agents that queue and take back are tried with, how each is begun, and how it is told to say something. */
const QUEUEING = [
  { agent: "the demo agent", start: (page: Page) => beginWithDemo(page, "RUN echo watered > demo.txt"), file: "demo.txt", says: "SAY" },
  { agent: "opencode", start: (page: Page) => begin(page, "TOOL bash: echo watered > opencode.txt", "FINAL Enough."), file: "opencode.txt", says: "FINAL" },
] as const;

for (const { agent, start, file, says } of QUEUEING) {
  test(`what is said while ${agent} works waits for its turn on both screens, and can be taken back on either`, async ({ visit, server }) => {
    const desk = await visit({ browser: DESK });
    await start(desk);
    await expect(button(askWith(desk, "echo watered"), "Allow once")).toBeVisible();
    // The phone opens what runs on the desk.
    const phone = await visit({ name: "Bob", role: "collaborator", browser: PHONE });
    await phone.goto(desk.url());
    await expect(askWith(phone, "echo watered")).toBeVisible();

    const queues = [desk, phone].map((page) => page.getByRole("region", { name: "Prompts that wait" }));
    const [atDesk, atPhone] = queues as [(typeof queues)[0], (typeof queues)[0]];
    await goOn(desk, `${says} The second thing.`);
    await goOn(phone, `${says} The third thing.`);
    for (const queue of queues) {
      await expect(queue.getByRole("listitem")).toHaveCount(2);
      await expect(queue.getByRole("listitem").first()).toContainText(`${says} The second thing.`);
    }
    await expect(atDesk.getByRole("listitem").nth(1)).toContainText("by Bob");
    for (const page of [desk, phone]) {
      // Who writes sees the whole page as before: nothing was pushed away by the field that has the focus.
      await expect(page.locator(".conversation-head h2")).toBeInViewport();
      // A queue looks the same whoever works.
      if (agent === "opencode") await look(page);
    }

    await atDesk.getByRole("button", { name: `Take back: ${says} The third thing.` }).click();
    for (const queue of queues) await expect(queue.getByRole("listitem")).toHaveCount(1);
    await button(askWith(phone, "echo watered"), "Allow once").click();
    for (const page of [desk, phone]) await expect(said(page, "The second thing.")).toBeVisible();
    await expect(atPhone).toHaveCount(0);
    await expect(desk.locator("[data-activity]")).toHaveAttribute("data-activity", "idle");
    for (const page of [desk, phone]) await expect(page.getByText("The third thing.")).toHaveCount(0);
    expect(server.file(file)).toBe("watered\n");
    expect(server.modelWasSent("The third thing.")).toBe(false);
  });
}

test("a session's sub-agents are a tree, in the session and in the list", async ({ visit }) => {
  const page = await visit({ browser: DESK });
  await begin(page, "TOOL task: count the frogs | TOOL bash: echo 7 > frogs.txt ;; FINAL Seven.", "FINAL Seven frogs, it says.");
  const ask = askWith(page, "echo 7 > frogs.txt");
  await expect(button(ask, "Allow once")).toBeVisible();
  const family = page.locator(".family");
  await family.locator("summary").click();
  await expect(family.getByRole("link")).toHaveCount(2);
  await expect(family.locator("ul ul").getByRole("link")).toContainText("working");
  await look(page);
  const parent = page.url().split("/").at(-1);
  await family.locator("ul ul").getByRole("link").click();
  await expect(page.locator(".conversation-head")).toContainText("sub-agent of");
  const child = page.url().split("/").at(-1);
  expect(child).not.toBe(parent);
  // In the list it stands below the session that started it, set in.
  const rows = page.locator(`[data-session="${parent}"], [data-session="${child}"]`);
  await expect(rows.nth(0)).toHaveAttribute("data-session", parent ?? "");
  await expect(rows.nth(1)).toHaveAttribute("data-depth", "1");
  await button(ask, "Allow once").click();
  await page.goto(page.url().replace(child ?? "", parent ?? ""));
  await expect(said(page, "Seven frogs, it says.")).toBeVisible();
});

test("what opencode writes down to do is a list, and its tool calls are folded", async ({ visit }) => {
  const page = await visit({ browser: PHONE });
  const todos = [
    { content: "Sow the **peas**", status: "completed", priority: "high" },
    { content: "Water <b>them</b>", status: "in_progress", priority: "high" },
    { content: "Pick them", status: "pending", priority: "low" },
  ];
  await begin(page, `TOOLJSON todowrite ${JSON.stringify({ todos })}`, "TOOL read: opencode.jsonc", "FINAL So far.");
  await expect(said(page, "So far.")).toBeVisible();
  const list = page.getByRole("list", { name: "To do" });
  await expect(list.getByRole("listitem")).toHaveText(["done: Sow the **peas**", "being done: Water <b>them</b>", "to do: Pick them"]);
  const call = page.locator(".call").filter({ hasText: "read" });
  await expect(call.getByText("Input")).toBeHidden();
  await call.locator("summary").click();
  await expect(call.getByText("Input")).toBeVisible();
  await look(page);
});

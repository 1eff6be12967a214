/* What is shown of an ask so that somebody can decide: on both screens, with the real agent. */
import { sampleSession, sampleWrite } from "../src/state/samples.ts";
import { askWith, begin, button, goOn, said } from "./support/page.ts";
import { look } from "./support/looking.ts";
import { DESK, PHONE } from "./support/screens.ts";
import { expect, test } from "./support/test.ts";

for (const [place, browser] of [
  ["a desk", DESK],
  ["a phone", PHONE],
] as const) {
  test(`at ${place}, a command has its colours, its programs, what it reaches for outside, and what was said before`, async ({ visit }) => {
    const page = await visit({ browser });
    const command = 'cd beds && make -s | tee /var/log/make.log && echo "done $(date +%F)" > ../out.txt # \u202Eend';
    await begin(page, "Please water the beds.", "SAY There is no rain for three days.", `TOOL bash: ${command}`, "FINAL Then not.");
    await expect(askWith(page, "cd beds")).toBeVisible();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Inbox" }).click();
    await page.locator(".row").filter({ hasText: "cd beds" }).getByRole("link").first().click();
    const ask = askWith(page, "cd beds");
    await expect(ask.locator("pre.command"), "whole, with nothing hidden").toHaveText(command.replace("\u202E", "⟨U+202E⟩"));
    await expect(ask.locator(".sh-command")).toHaveText(["cd", "make", "tee", "echo", "date"]);
    await expect(ask.locator(".sh-operator").first()).toHaveText("&&");
    await expect(ask.locator(".command-runs code")).toHaveText(["cd", "make", "tee", "echo", "date"]);
    await expect(ask).toContainText("2 paths in this command lead out of the workspace:");
    await expect(ask.locator(".outside-paths li")).toHaveText(["/var/log/make.log", "../out.txt"]);
    const context = ask.getByRole("region", { name: "Before it asked" });
    await expect(context).toContainText("Please water the beds.");
    await expect(context).toContainText("There is no rain for three days.");
    await expect(ask.locator(".offers code")).toHaveText(["Allow once", "Allow always", "Deny"]);
    await look(page);
    await button(ask, "Deny").click();
    await expect(ask).toContainText("Delivered");
  });

  test(`at ${place}, "why am I asked" names the rules there are and what each lacked`, async ({ visit, server }) => {
    const page = await visit({ browser });
    const [known, asked] = [`echo known-${place.slice(2)}`, `echo asked-${place.slice(2)}`];
    const rule = JSON.stringify({ tool: "bash", verdict: "allow", match: "exact", targets: [known] });
    const made = await fetch(`${server.url}/api/v1/rules`, {
      method: "POST",
      headers: { Authorization: `Bearer ${await server.token("Grace", "owner")}`, "Content-Type": "application/json" },
      body: rule,
    });
    expect(made.status).toBe(201);
    await begin(page, `TOOL bash: ${known}`, `TOOL bash: ${asked}`, "FINAL Enough.");
    const ask = askWith(page, asked);
    await ask.getByText("More about this ask").click();
    await ask.getByText("Why am I asked?").click();
    const line = ask.locator(".why-rules li").filter({ hasText: known });
    await expect(line).toContainText("is about something else · made by Grace");
    await look(page);
    await button(ask, "Allow once").click();
    await expect(said(page, "Enough.")).toBeVisible();
  });

  test(`at ${place}, a rule shows what else it would have matched before it is made`, async ({ visit, server }) => {
    const page = await visit({ browser });
    const folder = `plots-${place.slice(2)}`;
    await begin(page, `TOOL write: ${folder}/roses.txt <<< red`, "FINAL Planted.");
    const roses = askWith(page, "wants to change a file").first();
    await button(roses, "Allow once").click();
    await expect(said(page, "Planted.")).toBeVisible();
    await goOn(page, `TOOL write: ${folder}/nettles.txt <<< green`, "FINAL Not those.");
    const nettles = askWith(page, `${folder}/nettles.txt`);
    await nettles.getByLabel(/Reason for denying/).fill("They sting");
    await button(nettles, "Deny").click();
    await expect(said(page, "Not those.")).toBeVisible();

    await goOn(page, `TOOL write: ${folder}/beans.txt <<< green`, "FINAL Planted too.");
    const beans = askWith(page, `${folder}/beans.txt`);
    await button(beans, "Always for…").click();
    const dialog = page.getByRole("dialog", { name: "Always allow" });
    const preview = dialog.getByRole("region", { name: "What else it would have matched" });
    await expect(preview).toContainText("Nothing else in the last 7 days");
    await dialog.getByLabel("Everything like a pattern").check();
    await expect(preview).toContainText("2 other asks in the last 7 days");
    await expect(preview).toContainText("1 of them was denied by a person. With this rule nobody would have been asked.");
    await expect(preview.getByRole("listitem").first()).toContainText("nettles.txt");
    await expect(preview.getByRole("listitem").filter({ hasText: "roses.txt" })).toHaveCount(1);
    await look(page);
    await dialog.getByLabel("Pattern", { exact: true }).fill("elsewhere/**");
    await expect(preview).toContainText("It does not match what is asked here.");
    await dialog.getByLabel("Pattern", { exact: true }).fill("**/beans.txt");
    await expect(preview).toContainText("Nothing else in the last 7 days");
    await dialog.getByRole("button", { name: "Always allow" }).click();
    await expect(beans).toContainText("Always allowed in this session by you");
    await expect(said(page, "Planted too.")).toBeVisible();
    expect(server.file(`${folder}/beans.txt`)).toBeDefined();
  });
}

test("a rule answers what waits already only if somebody says so", async ({ visit, server }) => {
  const page = await visit({ browser: DESK });
  const command = "echo waits >> waits.txt";
  for (let count = 0; count < 2; count += 1) {
    await page.goto(`${server.url}/app/#/`);
    await begin(page, `TOOL bash: ${command}`, "FINAL Done.");
    await expect(askWith(page, command)).toBeVisible();
  }
  const ask = askWith(page, command);
  await button(ask, "Always for…").click();
  const dialog = page.getByRole("dialog", { name: "Always allow" });
  await expect(dialog.getByText(/Also allow/), "a rule for this session has nothing to do with the other").toHaveCount(0);
  await dialog.getByLabel("This workspace").check();
  const also = dialog.getByLabel("Also allow the 1 other ask that waits now and would match");
  await expect(also).not.toBeChecked();
  await also.check();
  await dialog.getByRole("button", { name: "Always allow" }).click();
  await expect(ask).toContainText("Always allowed in this workspace by you");
  await expect.poll(() => server.file("waits.txt")).toBe("waits\nwaits\n");
});

test("a diff is folded, and is read inline or side by side as somebody likes it from then on", async ({ visit, server }) => {
  const lines = Array.from({ length: 60 }, (_, line) => `row ${line} of the long bed`);
  server.writeFile("long-bed.txt", `${lines.join("\n")}\n`);
  const page = await visit({ browser: DESK });
  await begin(page, "TOOL read: long-bed.txt", `TOOL write: long-bed.txt <<< ${lines.with(30, "row thirty of the long bed").join(" / ")}`, "FINAL Then not.");
  const ask = askWith(page, "wants to change a file");
  const diff = ask.locator(".diff").first();
  await expect(diff).toBeVisible();
  await diff.getByRole("button", { name: "Side by side" }).click();
  await expect(diff).toHaveClass(/diff-split/);
  await look(page);
  await page.reload();
  await expect(diff, "it is remembered").toHaveClass(/diff-split/);
  await diff.getByRole("button", { name: "Side by side" }).click();
  await expect(diff).not.toHaveClass(/diff-split/);
  await button(ask, "Deny").click();
  await expect(ask).toContainText("Delivered");
});

test("what a write proposes is folded where nothing changes, and unfolds", async ({ visit }) => {
  const context = (from: number, count: number) => Array.from({ length: count }, (_, line) => ` same ${from + line}`);
  const patch = ["--- notes.md", "+++ notes.md", "@@ -1,31 +1,31 @@", ...context(1, 15), "-an old line", "+a new line", ...context(17, 15), ""].join("\n");
  const write = sampleWrite();
  const ask = {
    ...write,
    id: "ask_01jc0000000000000000k3v9qb",
    subject: { ...write.subject, changes: [{ path: "notes.md", patch }] },
  };
  for (const browser of [DESK, PHONE]) {
    const page = await visit({
      browser,
      prepare: async (fresh) => {
        await fresh.route("**/api/v1/asks?**", async (route) => {
          const response = await route.fetch();
          const list = (await response.json()) as { asks: unknown[] };
          await route.fulfill({ response, json: { ...list, asks: [ask, ...list.asks] } });
        });
        await fresh.route(`**/api/v1/asks/${ask.id}`, (route) => route.fulfill({ json: ask }));
        const holder = sampleSession({ id: ask.session, engine: "workspace writes", may_prompt: false });
        await fresh.route(`**/api/v1/sessions/${ask.session}`, (route) => route.fulfill({ json: holder }));
      },
    });
    await page.goto(`${page.url().replace(/#.*/, "")}#/asks/${ask.id}`);
    const diff = askWith(page, "Add plugin notes").locator(".diff");
    await expect(diff.getByText("same 1", { exact: true })).toHaveCount(0);
    await expect(diff.locator(".diff-change")).toHaveText(["an old", "a new"]);
    await expect(button(askWith(page, "Add plugin notes"), "Allow once")).toBeVisible();
    await look(page);
    await diff.getByRole("button", { name: "Show 12 unchanged lines" }).first().click();
    await expect(diff.getByText("same 1", { exact: true })).toHaveCount(1);
  }
});

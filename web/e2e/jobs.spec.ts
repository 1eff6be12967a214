/* Jobs as people see them: handed in, watched, answered, moved, ended, kept or discarded. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "@playwright/test";
import { look } from "./support/looking.ts";
import { askWith, button } from "./support/page.ts";
import { DESK, PHONE } from "./support/screens.ts";
import { Server } from "./support/server.ts";
import { expect, test } from "./support/test.ts";

async function openJobs(page: Page): Promise<void> {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Jobs" }).click();
  await page.getByRole("heading", { name: "Jobs", exact: true }).waitFor();
}

interface Wish {
  prompt: string;
  agent?: string;
  workspace?: string;
  worktree?: boolean;
}

/** Hands a job in as a person does, and waits until its page is there. */
async function handIn(page: Page, { prompt, agent, workspace, worktree }: Wish): Promise<Locator> {
  await page.getByRole("button", { name: "New job" }).click();
  const dialog = page.getByRole("dialog", { name: "Hand in a job" });
  await dialog.getByLabel("What is to be done").fill(prompt);
  if (agent !== undefined) await dialog.getByLabel("Agent").selectOption(agent);
  if (workspace !== undefined) await dialog.getByLabel("Workspace").selectOption(workspace);
  if (worktree === true) await dialog.getByLabel("In a worktree of its own").check();
  await dialog.getByRole("button", { name: "Hand in" }).click();
  const job = page.locator(".job");
  await expect(job.getByRole("heading", { level: 2 })).toContainText(prompt.split("\n")[0] ?? "");
  return job;
}

const state = (job: Locator) => job.locator(".job-state").first();

for (const [place, browser] of [
  ["a desk", DESK],
  ["a phone", PHONE],
] as const) {
  test(`a job is handed in, answered, read and tried again on ${place}`, async ({ visit, server }) => {
    test.setTimeout(120_000);
    const file = `mint-${place.replace("a ", "")}.txt`;
    const page = await visit({ browser });
    await openJobs(page);
    await look(page);
    await page.getByRole("button", { name: "New job" }).click();
    await look(page);
    await page.getByRole("button", { name: "Cancel" }).click();
    const job = await handIn(page, { prompt: `Plant it in ${file}\nTOOL bash: echo mint > ${file}\nFINAL Planted the **mint**.` });

    // What it does is seen as it happens, and what it asks is answered here.
    const ask = askWith(page, `echo mint > ${file}`);
    await expect(button(ask, "Allow once")).toBeVisible();
    await expect(state(job)).toHaveText("waiting for you");
    await expect(job.locator(".job-crumb")).toContainText("waiting for you: bash");
    await look(page);
    await button(ask, "Allow once").click();
    await expect(state(job)).toHaveText("completed");
    await expect(job.getByRole("region", { name: "Result" }).locator("strong")).toHaveText("mint");
    expect(server.file(file)).toBe("mint\n");

    // Where its time went is a picture, and the same in words.
    const timeline = job.getByRole("region", { name: "Where the time went" });
    await expect(timeline.getByRole("listitem").filter({ hasText: "Waiting for people" })).toBeVisible();
    await expect(timeline.locator("svg rect.time-waiting")).toHaveCount(1);
    await timeline.getByText("As a table").click();
    await expect(timeline.getByRole("row").filter({ hasText: "Waiting for people" })).toHaveCount(1);
    await job.locator("summary").filter({ hasText: "Log" }).click();
    await expect(job.locator(".job-log li").last()).toContainText("completed");
    await job.locator("summary").filter({ hasText: "About this job" }).click();
    await expect(job.locator(".job-facts")).toContainText("wait for somebody");
    await look(page);

    // Its session is the one that is talked in elsewhere.
    await job.getByRole("link", { name: "The session" }).click();
    await expect(page.getByRole("list", { name: "Transcript" })).toContainText("Planted the mint.");
    await page.goBack();

    await job.getByRole("button", { name: "Retry" }).click();
    const again = page.locator('.job[data-job-state="waiting"]');
    await expect(button(askWith(page, `echo mint > ${file}`), "Allow once")).toBeVisible();
    await again.getByRole("button", { name: "Cancel" }).click();
    await expect(state(job)).toHaveText("cancelled");
    await expect(job).toContainText("Cancelled by Ada.");

    // Both have ended, on the board and in the list.
    await openJobs(page);
    const ended = page.getByRole("region", { name: /^Ended/ });
    await expect(ended.getByRole("listitem").filter({ hasText: file })).toHaveCount(2);
    await page.keyboard.press("/");
    await page.keyboard.type(`plant ${file}`);
    await page.getByRole("button", { name: "List", exact: true }).click();
    await expect(page.getByRole("list", { name: "Jobs" }).getByRole("listitem")).toHaveCount(2);
    await look(page);
    await page.getByRole("button", { name: "Board", exact: true }).click();
  });
}

test("jobs that wait for a place are moved in their queue, and one that takes too long says so", async ({ visit, server }) => {
  test.setTimeout(120_000);
  const token = await server.token("jobber", "collaborator");
  const post = async (path: string, body?: unknown): Promise<{ id: string }> => {
    const response = await fetch(`${server.url}/api/v1/${path}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(response.ok, await response.clone().text()).toBe(true);
    return (await response.json()) as { id: string };
  };
  const made: string[] = [];
  const wait = async (title: string, more = {}) => made.push((await post("jobs", { kind: "task", prompt: "WAIT", title, engine: "demo", ...more })).id);
  const page = await visit({ browser: DESK });
  await openJobs(page);
  // As many as there are places, and two more.
  for (let number = 1; number <= 4; number += 1) await wait(`hold ${number}`);
  const working = page.getByRole("region", { name: /^Working/ });
  await expect(working.getByRole("listitem").filter({ hasText: "hold" })).toHaveCount(4);
  await wait("first");
  await wait("second");
  const queued = page.getByRole("region", { name: /^Queued/ }).locator(".job-card .row-who");
  await expect(queued).toHaveText(["first", "second"]);
  await look(page);

  await queued.filter({ hasText: "second" }).click();
  const job = page.locator(".job");
  await expect(job).toContainText("1 before it");
  await expect(job.getByRole("button", { name: "Lower in the queue" })).toBeDisabled();
  await job.getByRole("button", { name: "Raise in the queue" }).click();
  await expect(job).toContainText("next in its queue");
  await expect(job.getByRole("button", { name: "Raise in the queue" })).toBeDisabled();
  await openJobs(page);
  await expect(queued).toHaveText(["second", "first"]);

  // A place that gets free is taken by the one that is first now.
  await post(`jobs/${made[0]}/cancel`);
  await expect(working.getByRole("listitem").filter({ hasText: "second" })).toHaveCount(1);
  await expect(queued).toHaveText(["first"]);
  for (const id of made.slice(1)) await post(`jobs/${id}/cancel`);
  await expect(page.getByRole("region", { name: /^Ended/ }).getByRole("listitem").filter({ hasText: /hold|first|second/ })).toHaveCount(6);

  await wait("hurry", { deadline_seconds: 1 });
  await page.getByRole("listitem").filter({ hasText: "hurry" }).getByRole("link").click();
  await expect(job.locator(".note-error")).toContainText("It failed: it took longer than its deadline of 1 s");
  await look(page);
});

test("what a job did in a worktree of its own is looked at, kept or discarded", async ({ open }) => {
  test.setTimeout(180_000);
  const server = await Server.start("orchard");
  try {
    const orchard = join(server.workspace, "../orchard");
    const git = (...parameters: string[]) => execFileSync("git", ["-C", orchard, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", ...parameters], { encoding: "utf8" });
    git("init", "--initial-branch=main");
    git("commit", "--allow-empty", "--message=begin");
    for (const [screen, choice] of [
      [DESK, "Keep"],
      [PHONE, "Discard"],
    ] as const) {
      const file = `${choice.toLowerCase()}.md`;
      const page = await open(screen);
      await page.goto(await server.pairingLink("Ada", "owner"));
      await openJobs(page);
      const job = await handIn(page, { prompt: `Note it for ${choice}\nEDIT ${file} ripe apples`, agent: "demo", workspace: "orchard", worktree: true });
      await button(askWith(page, file), "Allow once").click();
      await expect(state(job)).toHaveText("completed");
      const changes = job.getByRole("region", { name: "Changes" });
      await expect(changes.locator(".diff")).toContainText("ripe apples");
      expect(existsSync(join(orchard, file)), "nothing is in the folder itself").toBe(false);
      await look(page);
      const branch = (await changes.locator(".worktree code").textContent()) ?? "";
      expect(git("branch", "--list", branch)).toContain(branch);
      await changes.getByRole("button", { name: `${choice} the changes` }).click();
      if (choice === "Discard") {
        const dialog = page.getByRole("dialog", { name: "Discard everything that this job changed?" });
        await look(page);
        await dialog.getByRole("button", { name: "Discard the changes" }).click();
        await expect(changes).toContainText("Discarded: worktree and branch are removed.");
        expect(git("branch", "--list", branch)).toBe("");
      } else {
        await expect(changes).toContainText("Kept: the changes are committed on the branch");
        expect(git("show", `${branch}:${file}`)).toContain("ripe apples");
      }
      await look(page);
      // A page would tell that the server goes away.
      await page.context().close();
    }
  } finally {
    await server.stop();
  }
});

/*
 * Pictures of the app's pages, for the README and for whoever wonders what it looks like: `npm run screenshots` writes them
 * into `docs/screenshots`. Another page is one more line of `PAGES`.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Page } from "@playwright/test";
import { askWith, begin, button, idOf, said } from "../e2e/support/page.ts";
import { DESK, PHONE } from "../e2e/support/screens.ts";
import { until, type Server } from "../e2e/support/server.ts";
import { expect, test } from "../e2e/support/test.ts";

/** What the workspace's configuration says. */
const CONFIG = `{
  // Nobody pushes from here.
  "permission": { "bash": { "git push *": "deny", "*": "ask" } },
  "instructions": ["docs/garden.md"],
  "mcp": {
    // The almanac of the village.
    "almanac": { "type": "remote", "url": "https://almanac.example/mcp", "enabled": false }
  }
}
`;

const FOLDER = resolve(import.meta.dirname, "../../docs/screenshots");

/** What each page is called, where it is, and by what one sees that it is all there. */
const PAGES: readonly { name: string; at: (scene: Scene) => string; ready: (page: Page) => Promise<unknown> }[] = [
  { name: "inbox", at: () => "#/", ready: (page) => page.locator(".rows .row").first().waitFor() },
  { name: "ask", at: ({ ask }) => `#/asks/${ask}`, ready: (page) => page.getByRole("article").waitFor() },
  { name: "session", at: ({ session }) => `#/sessions/${session}`, ready: (page) => page.locator(".transcript .call").first().waitFor() },
  { name: "sessions", at: () => "#/sessions", ready: (page) => page.locator(".rows .row").first().waitFor() },
  { name: "history", at: () => "#/history", ready: (page) => page.locator(".rows-history .row").first().waitFor() },
  { name: "jobs", at: () => "#/jobs", ready: (page) => page.locator("[data-job]").first().waitFor() },
  { name: "job", at: ({ job }) => `#/jobs/${job}`, ready: (page) => page.locator(".job .timeline").waitFor() },
  { name: "workspace", at: ({ workspace }) => `#/workspaces/${workspace}`, ready: (page) => page.getByRole("textbox", { name: "opencode.jsonc" }).waitFor() },
  { name: "access", at: () => "#/access", ready: (page) => page.getByRole("button", { name: "Pair a phone" }).waitFor() },
  { name: "rules", at: () => "#/access/rules", ready: (page) => page.locator("[data-rule]").first().waitFor() },
  { name: "ledger", at: () => "#/ledger", ready: (page) => page.getByRole("heading", { name: "Asks per day" }).waitFor() },
  { name: "audit", at: () => "#/ledger/audit", ready: (page) => page.locator(".entry").first().waitFor() },
];

const SCREENS = { desk: { viewport: { width: 1280, height: 800 } }, phone: PHONE } as const;

/** What there is to be seen. */
interface Scene {
  ask: string;
  session: string;
  job: string;
  workspace: string;
}

/** Has an agent work, ask and be answered, with others about and jobs in every state. */
async function play(page: Page, server: Server): Promise<Scene> {
  server.writeFile("opencode.jsonc", CONFIG);
  server.writeFile("src.txt", Array.from({ length: 9 }, (_, line) => `row ${line} of seeds`).join("\n"));
  await begin(page, "SAY I look at the seeds first.", "TOOL read: src.txt", "TOOL bash: cargo test --workspace", "FINAL All tests pass.");
  const first = askWith(page, "cargo test");
  await button(first, "Allow once").click();
  await expect(first).toContainText("Delivered");
  await expect(said(page, "All tests pass.")).toBeVisible();
  await page.getByRole("link", { name: "Inbox" }).first().click();
  await begin(page, "SAY One row has to be a different one.", "TOOL read: src.txt", "TOOL edit: src.txt <<< row 3 of seeds >>> row three of tulips", "FINAL Done.");
  const change = askWith(page, "wants to change a file");
  await expect(button(change, "Allow once")).toBeVisible();
  const session = /session_\w+/.exec(page.url())?.[0] ?? "";
  await page.getByRole("link", { name: "Inbox" }).first().click();
  await begin(page, "SAY I would like to send it.", "TOOL bash: git push --force origin main && rm -rf build/*", "FINAL Sent.");
  const push = askWith(page, "git push");
  await expect(button(push, "Allow once")).toBeVisible();
  const ask = await idOf(push);
  return { ask, session, job: await work(server), workspace: await workspaceOf(server) };
}

/** Hands jobs in, answers some of what they ask, and makes a rule; returns the job that has most to show. */
async function work(server: Server): Promise<string> {
  const owner = await server.token("Ada", "owner");
  const [bob, cleo] = [await server.token("Bob", "collaborator"), await server.token("Cleo", "approver")];
  await server.post("rules", { tool: "edit", match: "glob", pattern: "docs/**", verdict: "allow" }, owner);
  const handIn = async (prompt: string) => {
    const { id } = await server.post<{ id: string }>("jobs", { kind: "task", prompt, engine: "opencode" }, owner);
    return id;
  };
  const asked = async (job: string) => {
    let ask: string | undefined;
    await until(`${job} asks`, async () => {
      const { session } = await server.get<{ session?: string }>(`jobs/${job}`, owner);
      const { asks } = await server.get<{ asks: { id: string; session: string }[] }>("asks?state=open", owner);
      ask = asks.find((each) => each.session === session)?.id;
      return ask !== undefined;
    });
    return ask ?? "";
  };
  const shown = await handIn("Sort the seeds by the month they are sown in\nSAY I look at the seeds first.\nTOOL read: src.txt\nTOOL bash: sleep 2 && sort src.txt -o src.txt\nTOOL bash: sleep 1 && git diff --stat\nFINAL Sorted **nine rows** by month.");
  for (const person of [bob, cleo]) await server.answer(await asked(shown), { answer: "allow_once" }, person);
  await until(`${shown} ends`, async () => (await server.get<{ state: string }>(`jobs/${shown}`, owner)).state === "completed");
  const denied = await handIn("Throw away the old seeds\nTOOL bash: rm -rf old-seeds\nFINAL I leave them where they are.");
  await server.answer(await asked(denied), { answer: "deny", reason: "They are for next year" }, bob);
  const waiting = await handIn("Publish the sowing calendar\nTOOL bash: npm publish calendar\nFINAL Published.");
  await asked(waiting);
  await handIn("Water the beds in the greenhouse\nSLOW 20000\nFINAL One bed after the other, from the north to the south, until all of them are wet.");
  return shown;
}

async function workspaceOf(server: Server): Promise<string> {
  const { workspaces } = await server.get<{ workspaces: { id: string }[] }>("workspaces", await server.token("looker", "viewer"));
  return workspaces[0]?.id ?? "";
}

test("the pages of the app, in the light and in the dark, at a desk and on a phone", async ({ visit, open, server }) => {
  test.setTimeout(600_000);
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const first = await visit({ browser: DESK });
  const scene = await play(first, server);
  for (const [screen, browser] of Object.entries(SCREENS)) {
    const page = await open({ ...browser, reducedMotion: "reduce" });
    await page.goto(await server.pairingLink("Ada", "owner"));
    await page.getByText("live", { exact: true }).waitFor();
    for (const { name, at, ready } of PAGES) {
      await page.goto(`${server.url}/app/${at(scene)}`);
      await ready(page);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: join(FOLDER, `${name}-${screen}-${colorScheme}.png`), animations: "disabled", caret: "hide" });
      }
    }
  }
});

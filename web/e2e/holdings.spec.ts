/*
 * What a workspace holds for its agents, changed on the page: each change is seen before it is proposed, allowed by
 * somebody else, and read by the real engine.
 */
import type { BrowserContextOptions, Locator, Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { look } from "./support/looking.ts";
import { pretendInstallation } from "./support/offline-opencode.ts";
import { DESK, PHONE } from "./support/screens.ts";
import { Server, until, type Role } from "./support/server.ts";
import { expect, test } from "./support/test.ts";

const SCREENS = [
  ["phone", PHONE],
  ["desk", DESK],
] as const;
const CONFIG = '{\n  // kept by hand\n  "username": "ada" /* the gardener */\n}\n';

// What does not fit is refused, which a browser's console tells as well; and one server is started again.
// A page that shows a workspace may ask for it once more at the moment in which it is removed: 404.
test.use({ expected: /status of (404|409|422)|ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED_ENCODING/ });

let server: Server;
let approver: string;

/** Each screen has a server of its own, and finds nothing that was written on another. */
function serveAnew(): void {
  test.beforeAll(async () => {
    test.setTimeout(120_000);
    server = await Server.start();
    // With skills in it, the workspace has a folder of opencode's.
    pretendInstallation(join(server.workspace, ".opencode"));
    approver = await server.token("Cleo", "approver");
  });
  test.afterAll(async () => {
    await server.stop();
  });
}

type Open = (browser?: BrowserContextOptions) => Promise<Page>;

/** Opens the page of the workspace as somebody finds it. */
async function enter(open: Open, screen: BrowserContextOptions, name: string, role: Role): Promise<Page> {
  const page = await open(screen);
  await page.goto(await server.pairingLink(name, role));
  await page.getByRole("link", { name: "Workspaces" }).click();
  await page.getByRole("link", { name: "garden" }).click();
  await expect(page.getByRole("heading", { name: "garden" })).toBeVisible();
  return page;
}

/** Goes to another part of what the workspace holds. */
async function part(page: Page, name: string | RegExp): Promise<void> {
  await page.getByRole("navigation", { name: "What it holds" }).getByRole("link", { name }).click();
}

function dialog(page: Page, title: string | RegExp): Locator {
  return page.getByRole("dialog", { name: title });
}

/** Proposes what the dialog shows. */
async function propose(shown: Locator): Promise<void> {
  await shown.getByRole("button", { name: "Propose" }).click();
  await expect(shown).toContainText("Proposed.");
  await shown.getByRole("button", { name: "Done" }).click();
}

/** Answers every write that waits, as somebody else does elsewhere. */
async function answerAll(answer: unknown): Promise<void> {
  const { asks } = await server.get<{ asks: { id: string; door: string }[] }>("asks?state=open", approver);
  const writes = asks.filter((ask) => ask.door === "workspace");
  expect(writes.length).toBeGreaterThan(0);
  for (const ask of writes) await server.answer(ask.id, answer, approver);
}

const allow = () => answerAll({ answer: "allow_once" });

for (const [screen, options] of SCREENS) {
  test.describe(`on a ${screen},`, () => {
    serveAnew();

    test(`the configuration is checked, proposed as it is shown, allowed by somebody else, and read by the engine`, async ({ open }) => {
      server.writeFile("opencode.jsonc", CONFIG);
      const bob = await enter(open, options, "Bob", "collaborator");
      const editor = bob.getByLabel("opencode.jsonc");
      await expect(editor).toHaveValue(CONFIG);
      await expect(bob.getByText("No problems found.")).toBeVisible();
      const review = bob.getByRole("button", { name: "Review change" });
      await expect(review).toBeDisabled();

      await editor.fill('{\n  // größer\n  "a": 1\n  "b": 2\n}\n');
      await expect(bob.getByRole("button", { name: /Line 4, column 3: comma expected/ })).toBeVisible();
      await expect(review).toBeDisabled();
      await look(bob);
      await bob.getByRole("button", { name: /Line 4, column 3/ }).click();
      await expect(editor).toBeFocused();
      expect(await editor.evaluate((field: HTMLTextAreaElement) => field.value.slice(field.selectionStart, field.selectionStart + 3))).toBe('"b"');

      const command = `water-${screen}`;
      const wanted = CONFIG.replace("\n}", `,\n  "command": { "${command}": { "template": "Water the roses." } }\n}`);
      await editor.fill(wanted);
      await expect(review).toBeEnabled();
      await review.click();
      const shown = dialog(bob, "Write the configuration");
      await expect(shown.locator(".diff")).toContainText(command);
      await expect(shown).toContainText("Somebody else who may approve");
      await look(bob);
      expect(server.file("opencode.jsonc")).toBe(CONFIG);
      await propose(shown);
      await expect(bob.getByRole("region", { name: "Waiting for approval" })).toContainText("Write the configuration");
      await look(bob);
      expect(server.file("opencode.jsonc")).toBe(CONFIG);

      await allow();
      await expect(bob.getByRole("region", { name: "Waiting for approval" })).toHaveCount(0);
      await expect(editor).toHaveValue(wanted);
      expect(server.file("opencode.jsonc")).toBe(wanted);
      // A write disturbs no engine; it reads the configuration when it is told to.
      const commands = async () => (await server.atEngine<{ name: string }[]>("/command")).map(({ name }) => name);
      expect(await commands()).not.toContain(command);
      await expect(bob.getByRole("button", { name: "Reload" })).toHaveCount(0);
      const ada = await enter(open, options, "Ada", "owner");
      await ada.getByRole("button", { name: "Reload" }).click();
      const asked = dialog(ada, "Reload the configuration?");
      await look(ada);
      await asked.getByRole("button", { name: "Reload" }).click();
      await expect(ada.getByText("The engine has read its configuration anew.")).toBeVisible();
      await until("the engine knows the command", async () => (await commands()).includes(command));
    });

    test(`skills, commands, plugins and MCP servers have forms`, async ({ open }) => {
      test.setTimeout(120_000);
      server.writeFile("opencode.jsonc", CONFIG);
      const page = await enter(open, options, "Bob", "collaborator");

      await part(page, /^Skills/);
      await page.getByRole("button", { name: "Add a skill" }).click();
      const skill = dialog(page, "New skill");
      await skill.getByLabel("Name").fill("Prune Roses");
      await skill.getByLabel("When it is to be used").fill("When roses grow: in spring");
      await skill.getByLabel("What it says").fill("# Pruning\n\nCut low.");
      await skill.getByRole("button", { name: "Review change" }).click();
      await expect(dialog(page, "Review change")).toContainText("kebab-case");
      await dialog(page, "Review change").getByRole("button", { name: "Back" }).click();
      await skill.getByLabel("Name").fill(`prune-${screen}`);
      await look(page);
      await skill.getByRole("button", { name: "Review change" }).click();
      await propose(dialog(page, `Write skill prune-${screen}`));
      await expect(skill).toHaveCount(0);
      await allow();
      await expect(page.getByText("When roses grow: in spring").first()).toBeVisible();
      await expect.poll(() => server.file(`.opencode/skills/prune-${screen}/SKILL.md`) ?? "").toContain("Cut low.");
      await page.getByRole("button", { name: `Edit prune-${screen}` }).click();
      const edited = dialog(page, `Edit prune-${screen}`);
      await expect(edited.getByLabel("What it says")).toHaveValue("# Pruning\n\nCut low.\n");
      await edited.getByLabel("What it says").fill("Cut lower.");
      await edited.getByRole("button", { name: "Review change" }).click();
      await expect(dialog(page, /^Write skill/).locator(".diff")).toContainText("Cut lower.");
      await propose(dialog(page, /^Write skill/));
      await allow();
      await until("the skill is written", async () => server.file(`.opencode/skills/prune-${screen}/SKILL.md`)?.includes("Cut lower.") === true);

      await part(page, /^Commands/);
      await page.getByRole("button", { name: "Add a command" }).click();
      const command = dialog(page, "New command");
      await command.getByLabel("Name").fill(`rake-${screen}`);
      await command.getByLabel("What it is for").fill("Rakes the leaves");
      await command.getByLabel("Prompt").fill("Rake $ARGUMENTS");
      await look(page);
      await command.getByRole("button", { name: "Review change" }).click();
      await propose(dialog(page, `Write command /rake-${screen}`));
      await allow();
      await expect(page.getByText("Rakes the leaves")).toBeVisible();
      await page.getByRole("button", { name: `Delete rake-${screen}` }).click();
      await propose(dialog(page, /^Delete command/));
      await answerAll({ answer: "deny", reason: "it is autumn" });
      await expect(page.getByRole("region", { name: "Waiting for approval" })).toHaveCount(0);
      await expect(page.getByText("Rakes the leaves")).toBeVisible();

      await part(page, /^MCP servers/);
      await page.getByRole("button", { name: "Add an MCP server" }).click();
      const mcp = dialog(page, "New MCP server");
      await mcp.getByLabel("Name").fill("weather");
      await mcp.getByLabel("Remote: an address").check();
      await mcp.getByRole("textbox", { name: "Address" }).fill("https://weather.example/mcp");
      await mcp.getByLabel("Headers").fill("Authorization");
      await mcp.getByRole("button", { name: "Review change" }).click();
      await expect(mcp.getByRole("alert")).toContainText("does not fit");
      await mcp.getByLabel("Headers").fill("Authorization: Bearer {env:WEATHER}");
      await look(page);
      await mcp.getByRole("button", { name: "Review change" }).click();
      await propose(dialog(page, "Set MCP server weather"));
      await allow();
      await page.getByRole("button", { name: "Disable weather" }).click();
      await propose(dialog(page, "Disable MCP server weather"));
      await allow();
      await expect(page.getByText("disabled", { exact: true })).toBeVisible();
      await look(page);
      await page.getByRole("button", { name: "Remove weather" }).click();
      await propose(dialog(page, "Remove MCP server weather"));
      await allow();
      await expect(page.getByText("No MCP server yet.")).toBeVisible();

      await part(page, /^Plugins/);
      await page.getByLabel("Package or file").fill("opencode-notes@1.2.0");
      await page.getByRole("button", { name: "Add plugin" }).click();
      await expect(dialog(page, "Add plugin opencode-notes@1.2.0").locator(".diff")).toContainText('"plugin"');
      await propose(dialog(page, /^Add plugin/));
      await allow();
      await page.getByRole("button", { name: "Remove opencode-notes@1.2.0" }).click();
      await look(page);
      await propose(dialog(page, /^Remove plugin/));
      await allow();
      await expect(page.getByText("No plugin yet.")).toBeVisible();
      const left = server.file("opencode.jsonc") ?? "";
      expect(left).toContain("// kept by hand");
      expect(left).toContain("/* the gardener */");
    });

    test(`a file that changed meanwhile is shown beside what somebody wrote`, async ({ open }) => {
      server.writeFile("opencode.jsonc", CONFIG);
      const page = await enter(open, options, "Bob", "collaborator");
      const editor = page.getByLabel("opencode.jsonc");
      await expect(editor).toHaveValue(CONFIG);
      const mine = CONFIG.replace("ada", "bob");
      await editor.fill(mine);
      const theirs = CONFIG.replace("ada", "cleo");
      server.writeFile("opencode.jsonc", theirs);
      await page.getByRole("button", { name: "Review change" }).click();
      const shown = dialog(page, "Write the configuration");
      await expect(shown.getByRole("alert")).toContainText("The file changed since you opened it.");
      await shown.getByText("The file as it is now").click();
      await expect(shown.locator("pre")).toContainText("cleo");
      await expect(shown.locator(".diff")).toContainText("bob");
      await look(page);
      // Once more under the eyes of whoever looks.
      server.writeFile("opencode.jsonc", CONFIG.replace("ada", "dora"));
      await shown.getByRole("button", { name: "Propose" }).click();
      await expect(shown).toContainText("once more while you looked");
      await expect(shown.locator(".diff")).toContainText("dora");
      await expect.poll(() => server.file("opencode.jsonc") ?? "").toContain("dora");
      await shown.getByRole("button", { name: "Back" }).click();
      await expect(editor).toHaveValue(mine);
      await page.getByRole("button", { name: "Review change" }).click();
      await shown.getByRole("button", { name: "Discard mine" }).click();
      await page.reload();
      await expect(editor).toHaveValue(CONFIG.replace("ada", "dora"));
    });

    test(`a workspace is added, called otherwise, given what another holds, and removed`, async ({ open }) => {
      test.setTimeout(120_000);
      server.writeFile("opencode.jsonc", CONFIG);
      const page = await enter(open, options, "Ada", "owner");
      const other = await open(options);
      await other.goto(await server.pairingLink("Vera", "viewer"));
      await other.getByRole("link", { name: "Workspaces" }).click();
      await expect(other.getByRole("link", { name: "garden" })).toBeVisible();

      await part(page, "Export and import");
      await page.getByRole("button", { name: "Prepare export" }).click();
      await expect(page.getByText("Nothing in it looks like a secret.")).toBeVisible();
      await look(page);
      const downloading = page.waitForEvent("download");
      await page.getByRole("link", { name: "Download" }).click();
      const download = await downloading;
      expect(download.suggestedFilename()).toBe("garden.countersign.json");
      const file = await download.path();
      expect(readFileSync(file, "utf8")).toContain('"username": "ada"');

      if (screen === "phone") await page.getByRole("link", { name: "Workspaces" }).first().click();
      await page.getByRole("button", { name: "Add a workspace" }).click();
      const adding = dialog(page, "Add a workspace");
      await adding.getByLabel("Folder").fill("/nowhere/at/all");
      await adding.getByRole("button", { name: "Add a workspace" }).click();
      await expect(adding.getByRole("alert")).toContainText("cannot be used");
      await look(page);
      await adding.getByLabel("Folder").fill(server.folder(`orchard-${screen}`));
      await adding.getByRole("button", { name: "Add a workspace" }).click();
      await expect(page.getByRole("heading", { name: `orchard-${screen}` })).toBeVisible();
      await expect(other.getByRole("link", { name: `orchard-${screen}` })).toBeVisible();
      await page.getByRole("button", { name: "Rename" }).click();
      const renaming = dialog(page, `Rename orchard-${screen}`);
      await renaming.getByLabel("Name").fill(`Apple trees ${screen}`);
      await renaming.getByRole("button", { name: "Rename" }).click();
      await expect(page.getByRole("heading", { name: `Apple trees ${screen}` })).toBeVisible();
      await expect(other.getByRole("link", { name: `Apple trees ${screen}` })).toBeVisible();

      await part(page, "Export and import");
      await page.getByLabel("Export file").setInputFiles(file);
      await page.getByRole("button", { name: "Review change" }).click();
      const shown = dialog(page, "Take in what was exported from a workspace");
      await expect(shown.locator(".diff").filter({ hasText: "opencode.jsonc" })).toBeVisible();
      // Nobody approves what they propose; where one person does both, the server can be told.
      await expect(shown).toContainText("You cannot allow it yourself.");
      await expect(shown).toContainText("--approval auto");
      await look(page);
      await propose(shown);
      await page.getByRole("link", { name: "Take in what was exported from a workspace" }).click();
      const ask = page.getByRole("article").filter({ hasText: "Take in what was exported" });
      await expect(ask.getByRole("button", { name: "Allow once" })).toHaveCount(0);
      await allow();
      await expect(ask).toContainText("Written");
      expect(readFileSync(`${server.folder(`orchard-${screen}`)}/opencode.jsonc`, "utf8")).toContain("ada");

      await page.getByRole("link", { name: "Workspaces" }).click();
      await page.getByRole("link", { name: `Apple trees ${screen}` }).click();
      await page.getByRole("button", { name: "Remove" }).click();
      const removing = dialog(page, `Remove Apple trees ${screen}?`);
      await look(page);
      await removing.getByRole("button", { name: "Remove" }).click();
      await expect(page.getByRole("link", { name: `Apple trees ${screen}` })).toHaveCount(0);
      await expect(other.getByRole("link", { name: `Apple trees ${screen}` })).toHaveCount(0);
      await expect(other.getByRole("button", { name: "Add a workspace" })).toHaveCount(0);
      await other.getByRole("link", { name: "garden" }).click();
      await expect(other.getByText("your grant propose is missing")).toBeVisible();
      await expect(other.getByLabel("opencode.jsonc")).toHaveJSProperty("readOnly", true);
      await look(other);
    });
  });
}

test.describe("of one workspace", () => {
  serveAnew();

  test("an engine is restarted, and the page tells how it stands", async ({ open }) => {
    test.setTimeout(120_000);
    const page = await enter(open, DESK, "Ada", "owner");
    const head = page.locator(".workspace-engine");
    await expect(head).toContainText("is ready");
    const run = async () => (await server.get<{ workspaces: { engine: { state: string; run?: string } }[] }>("workspaces", approver)).workspaces[0]?.engine;
    const before = (await run())?.run;
    await page.getByRole("button", { name: "Restart" }).click();
    await dialog(page, "Restart the engine?").getByRole("button", { name: "Restart" }).click();
    await expect(page.getByText("The engine is restarting.")).toBeVisible();
    await until("another life began", async () => {
      const now = await run();
      return now?.state === "ready" && now.run !== before;
    });
    await expect(head).toContainText("is ready");
  });

  test("where one person proposes and approves, the server can be told not to ask", async ({ open }) => {
    test.setTimeout(120_000);
    server.writeFile("opencode.jsonc", CONFIG);
    await server.configure('[writes]\napproval = "auto"\n');
    const page = await enter(open, DESK, "Ada", "owner");
    await expect(page.getByText("what you change is written at once")).toBeVisible();
    await page.getByLabel("opencode.jsonc").fill(CONFIG.replace("ada", "grace"));
    await page.getByRole("button", { name: "Review change" }).click();
    const shown = dialog(page, "Write the configuration");
    await expect(shown).toContainText("It is written at once");
    await shown.getByRole("button", { name: "Write" }).click();
    await expect(shown).toHaveCount(0);
    await expect.poll(() => server.file("opencode.jsonc") ?? "").toContain("grace");
    await expect(page.getByLabel("opencode.jsonc")).toHaveValue(CONFIG.replace("ada", "grace"));
    // Who may only propose is still asked for.
    const bob = await enter(open, DESK, "Bob", "collaborator");
    await expect(bob.getByText("Every change waits until somebody else")).toBeVisible();
  });
});

/* Files and images that come along with prompts, and sessions of before, with the agent that needs no model. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { said } from "./support/page.ts";
import { expect, test } from "./support/test.ts";

const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const NOTES = { name: "notes.md", mimeType: "text/markdown", buffer: Buffer.from("remember the milk") };
const PICTURE = { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(DOT, "base64") };

async function beginWithDemo(page: Page, text: string): Promise<void> {
  await page.getByRole("navigation").getByRole("link", { name: "Sessions" }).click();
  await page.getByLabel("Ask an agent to do something").fill(text);
  await page.getByLabel("with").selectOption("demo");
  await page.getByRole("button", { name: "Send" }).first().click();
  await page.getByRole("list", { name: "Transcript" }).waitFor();
}

/** Pastes or drops a file onto the field for the prompt. */
async function give(page: Page, type: "paste" | "drop", name: string, mime: string, base64: string): Promise<void> {
  const field = page.getByLabel("Prompt", { exact: true });
  await field.evaluate(
    (element, [kind, fileName, fileType, content]) => {
      const data = new DataTransfer();
      const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
      data.items.add(new File([bytes], fileName, { type: fileType }));
      const init = { bubbles: true, cancelable: true };
      const event =
        kind === "paste"
          ? new ClipboardEvent("paste", { ...init, clipboardData: data })
          : new DragEvent("drop", { ...init, dataTransfer: data });
      element.dispatchEvent(event);
    },
    [type, name, mime, base64] as const,
  );
}

test("files and images are attached, removed, sent, and shown in the transcript", async ({ visit }) => {
  const page = await visit();
  await beginWithDemo(page, "SAY Hello.");
  await expect(said(page, "Hello.")).toBeVisible();
  const chips = page.getByRole("list", { name: "Attachments" }).getByRole("listitem");
  const foot = page.locator(".conversation-foot");

  await foot.getByLabel("Files to attach").setInputFiles([NOTES, PICTURE]);
  await expect(chips).toHaveCount(2);
  await give(page, "paste", "pasted.png", "image/png", DOT);
  await give(page, "drop", "dropped.txt", "text/plain", btoa("dropped words"));
  await expect(chips).toHaveCount(4);
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
  expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
  await foot.getByRole("button", { name: "Remove notes.md" }).click();
  await expect(chips).toHaveCount(3);
  // What is neither a text nor an image stays out, and that is said.
  await give(page, "drop", "data.bin", "application/octet-stream", btoa("\u0000\u0001"));
  await expect(foot.getByRole("alert")).toContainText("data.bin is neither a text nor a png");
  await expect(chips).toHaveCount(3);

  await page.getByLabel("Prompt", { exact: true }).fill("SAY Looked.");
  await foot.getByRole("button", { name: "Send" }).click();
  await expect(said(page, "Looked.")).toBeVisible();
  await expect(page.getByRole("list", { name: "Transcript" })).toContainText("an image (image/png, 70 bytes)");
  await expect(page.getByRole("list", { name: "Attachments" })).toHaveCount(0);
  const attached = page.getByRole("list", { name: "Transcript" }).locator(".piece-attachment");
  await expect(attached).toHaveCount(3);
  const picture = attached.filter({ hasText: "pasted.png" });
  await picture.getByRole("button", { name: "Show image" }).click();
  const image = picture.getByRole("img", { name: "pasted.png" });
  await expect(image).toBeVisible();
  expect(await image.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBe(1);
});

test("an earlier session is picked from the agent's own list", async ({ visit }) => {
  const page = await visit();
  await beginWithDemo(page, "SAY Once upon a time.");
  await expect(said(page, "Once upon a time.")).toBeVisible();
  const address = page.url();
  await page.getByRole("navigation").getByRole("link", { name: "Sessions" }).click();
  await page.getByRole("button", { name: "Earlier sessions…" }).click();
  const dialog = page.getByRole("dialog", { name: "Earlier sessions" });
  await dialog.getByLabel("of").selectOption("demo");
  const entry = dialog.getByRole("button", { name: /SAY Once upon a time/ });
  await expect(entry).toContainText("known here");
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
  expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
  await entry.click();
  await expect(dialog).toHaveCount(0);
  await expect(page).toHaveURL(address);
  await expect(said(page, "Once upon a time.")).toBeVisible();
});

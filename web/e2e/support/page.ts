/* What people do on the page, for tests to say in a word. */
import type { Locator, Page } from "@playwright/test";

/** Begins a session with a prompt that is typed on the page; its lines direct the stub model. */
export async function begin(page: Page, ...lines: string[]): Promise<void> {
  await say(page.getByLabel("Ask an agent to do something"), lines);
  await page.getByRole("list", { name: "Transcript" }).waitFor();
}

/** Says something more in the session that is shown. */
export async function goOn(page: Page, ...lines: string[]): Promise<void> {
  await say(page.getByLabel("Prompt", { exact: true }), lines);
}

async function say(field: Locator, lines: readonly string[]): Promise<void> {
  await field.fill(lines.join("\n"));
  await field.press("Enter");
}

/** The ask on the page that shows `text`. */
export function askWith(page: Page, text: string): Locator {
  return page.getByRole("article").filter({ hasText: text });
}

/** The ask's id, once it is shown and takes answers. */
export async function idOf(ask: Locator): Promise<string> {
  const id = await ask.getAttribute("data-ask");
  if (id === null) throw new Error("the ask has no id");
  return id;
}

/** A button of an ask; those of a fresh one are held back for a moment, during which a click does nothing. */
export function button(ask: Locator, name: string | RegExp): Locator {
  return ask.getByRole("button", { name }).and(ask.locator(":not([aria-disabled=true])"));
}

/** What the agent said and did in the session that is shown; prompts do not count. */
export function pieces(page: Page): Locator {
  return page.getByRole("list", { name: "Transcript" }).locator(".piece:not(.piece-prompt)");
}

/** Words of the agent, whole. */
export function said(page: Page, words: string): Locator {
  return pieces(page).getByText(words, { exact: true });
}

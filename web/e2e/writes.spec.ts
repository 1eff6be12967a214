/*
 * A write that a client proposes, as the page shows it and answers it. What the server would say of one is put in its
 * place: the page is what is tried here.
 */
import type { Page } from "@playwright/test";
import { sampleSession, sampleWrite } from "../src/state/samples.ts";
import type { AskView } from "../src/api/types.ts";
import { askWith, button } from "./support/page.ts";
import { expect, test } from "./support/test.ts";

const write: AskView = { ...sampleWrite(), id: "ask_01jc0000000000000000k3v9qa", raw: { action: "plugins.add" } };

/** Puts `ask` into every list, and takes its answers. */
async function propose(page: Page, ask: AskView, answered: (request: unknown) => AskView): Promise<void> {
  let now = ask;
  await page.route("**/api/v1/asks?**", async (route) => {
    const response = await route.fetch();
    const list = (await response.json()) as { asks: AskView[] };
    await route.fulfill({ response, json: { ...list, asks: [now, ...list.asks] } });
  });
  await page.route(`**/api/v1/asks/${ask.id}`, (route) => route.fulfill({ json: now }));
  await page.route(`**/api/v1/asks/${ask.id}/answer`, (route) => {
    now = answered(route.request().postDataJSON());
    return route.fulfill({ json: now });
  });
  const holder = sampleSession({ id: ask.session, engine: "workspace writes", may_prompt: false });
  await page.route(`**/api/v1/sessions/${ask.session}`, (route) => route.fulfill({ json: holder }));
}

test("a write is shown with its difference and its client, and is allowed once", async ({ visit }) => {
  const requests: unknown[] = [];
  const at = "2026-11-15T18:44:00.000000Z";
  const page = await visit({
    prepare: (fresh) =>
      propose(fresh, write, (request) => {
        requests.push(request);
        return {
          ...write,
          state: "delivered",
          may_answer: false,
          answer: { answer: "allow_once", by: { id: "actor_ada", kind: "person", name: "Ada" }, surface: "web", at },
          delivery: { state: "delivered", attempts: 0, at, evidence: { kind: "files_written", digest: "abc123" } },
        };
      }),
  });
  const ask = askWith(page, "Add plugin notes");
  await expect(ask).toContainText("Bob proposes a write, plugins.add");
  await expect(ask).toContainText("From the client phone");
  await expect(ask.locator(".diff")).toContainText('{"plugin": ["notes"]}');
  await expect(ask.getByRole("button", { name: "Always" })).toHaveCount(0);

  await button(ask, "Allow once").click();
  await expect(ask).toContainText("Written");
  await expect(ask).toContainText("SHA-256 abc123");
  expect(requests).toEqual([{ answer: "allow_once" }]);

  await page.getByRole("link", { name: "Sessions" }).click();
  await expect(page.getByRole("heading", { name: "Sessions" })).toBeVisible();
  await expect(page.locator(`[data-session="${write.session}"]`)).toHaveCount(0);
});

test("a write that one may not answer says what is in the way, and one that was withdrawn what it wanted", async ({ visit }) => {
  const page = await visit({ prepare: (fresh) => propose(fresh, { ...write, may_answer: false }, () => write) });
  const ask = askWith(page, "Add plugin notes");
  await expect(ask).toContainText("your grant approve is missing");
  await expect(ask.getByRole("button", { name: "Allow once" })).toHaveCount(0);

  const why = "the server was restarted, and nobody waits for it any more";
  // Of those that are over the inbox has the newest, and other tests had some settled.
  const opened_at = new Date().toISOString();
  const withdrawn: AskView = { ...write, state: "withdrawn", may_answer: false, why, opened_at };
  const other = await visit({ prepare: (fresh) => propose(fresh, withdrawn, () => withdrawn) });
  await other.getByRole("link", { name: "Add plugin notes" }).click();
  const over = askWith(other, "Add plugin notes");
  await expect(over).toContainText("Withdrawn");
  await expect(over).toContainText("the server was restarted");
  await expect(over.locator(".diff")).toContainText('{"plugin": ["notes"]}');
});

/*
 * The page as an app, through a reverse proxy with TLS and a path prefix: it is installed, opens without a network, is
 * replaced when there is a newer one, and tells of new asks while nobody looks.
 */
import type { BrowserContextOptions, Page } from "@playwright/test";
import config from "../playwright.config.ts";
import { askWith, button } from "./support/page.ts";
import { PushService } from "./support/push-service.ts";
import { expect, ROUGH, test, type Rough } from "./support/rough.ts";
import { DESK, PHONE } from "./support/screens.ts";
import { TLS_PREFIX } from "./support/tls-proxy.ts";

const launch = config.use?.launchOptions ?? {};
// The certificate is nobody's, which a worker is not forgiven page by page.
test.use({
  launchOptions: { ...launch, args: [...(launch.args ?? []), "--ignore-certificate-errors"] },
  // What is tried on purpose is told of by the browser.
  expected: /TrustedHTML|status of 401/,
});

const APP: BrowserContextOptions = { serviceWorkers: "allow", ignoreHTTPSErrors: true };

const asking = (command: string) => `ASK ${JSON.stringify({ title: command, input: { command } })}`;

async function pair(page: Page, { server, tls }: Rough, name = "Ada"): Promise<void> {
  const [, code] = (await server.pairingLink(name, "owner")).split("#");
  await page.goto(`${tls.url}/app/#${code}`);
  await expect(page.getByText("live", { exact: true })).toBeVisible();
}

/** Waits until the app's worker is the one that the page's requests go by. */
async function underWorker(page: Page): Promise<void> {
  await page.waitForFunction(async () => {
    await navigator.serviceWorker.ready;
    return navigator.serviceWorker.controller?.state === "activated";
  });
}

test("behind TLS and a path prefix everything is below the prefix, and nothing of it is for others", async ({ open, rough }) => {
  const page = await open({ ...DESK, ...APP });
  await page.goto(rough.tls.url);
  expect(page.url()).toBe(`${rough.tls.url}/app/`);
  await pair(page, rough);
  const cookies = await page.context().cookies();
  expect(cookies.map(({ path, secure, httpOnly, sameSite }) => ({ path, secure, httpOnly, sameSite }))).toEqual([
    { path: `${TLS_PREFIX}/`, secure: true, httpOnly: true, sameSite: "Strict" },
  ]);

  await rough.server.begin(ROUGH, `${asking("echo through-the-proxy")}`);
  const ask = askWith(page, "echo through-the-proxy");
  await button(ask, "Allow once").click();
  await expect(ask).toContainText("Delivered");

  const policy = (await page.request.get(`${rough.tls.url}/app/`)).headers()["content-security-policy"] ?? "";
  for (const part of ["default-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types countersign"]) {
    expect(policy).toContain(part);
  }
  expect(policy).not.toContain("unsafe");
  const problem = await page.evaluate(() => {
    try {
      document.createElement("p").innerHTML = "<b>markup</b>";
      return "";
    } catch (error) {
      return (error as Error).name;
    }
  });
  expect(problem, "no text becomes markup").toBe("TypeError");
});

test.describe("without the server", () => {
  test.use({ expected: /ERR_|Failed to load resource/ });

  test("it can be installed, and opens without the server from what it kept, which is nothing of the API", async ({ open, rough }) => {
    const page = await open({ ...PHONE, ...APP });
    await pair(page, rough);
    await underWorker(page);
    const session = await page.context().newCDPSession(page);
    const { errors, data } = await session.send("Page.getAppManifest");
    expect(errors).toEqual([]);
    const manifest = JSON.parse(data ?? "") as { icons: { src: string; sizes: string; purpose: string }[]; start_url: string };
    expect(manifest.icons.map(({ sizes, purpose }) => `${sizes} ${purpose}`)).toEqual(["192x192 any", "512x512 any", "512x512 maskable"]);
    for (const { src } of manifest.icons) {
      const icon = await page.request.get(`${rough.tls.url}/app/${src}`);
      expect([icon.status(), icon.headers()["content-type"]]).toEqual([200, "image/png"]);
    }
    const { installabilityErrors } = await session.send("Page.getInstallabilityErrors");
    expect(installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== "in-incognito")).toEqual([]);

    const kept = await page.evaluate(async () => {
      const all = await Promise.all((await caches.keys()).map((name) => caches.open(name)));
      return (await Promise.all(all.map((cache) => cache.keys()))).flat().map(({ url }) => new URL(url).pathname);
    });
    expect(kept).toContain(`${TLS_PREFIX}/app/`);
    expect(kept.filter((path) => path !== `${TLS_PREFIX}/app/` && !path.startsWith(`${TLS_PREFIX}/app/assets/`))).toEqual([]);
    expect(kept.length).toBeGreaterThan(2);

    await rough.server.kill();
    try {
      await page.reload();
      await expect(page.getByText("The server cannot be reached.")).toBeVisible();
    } finally {
      await rough.server.restart();
    }
    await page.getByRole("button", { name: "Try again" }).click();
    await expect(page.getByText("live", { exact: true })).toBeVisible();
  });
});

test("a newer app is offered, and used when somebody says so", async ({ open, rough }) => {
  const page = await open({ ...DESK, ...APP });
  await pair(page, rough);
  await underWorker(page);
  const isReady = page.getByText("A newer version of this page is ready.");
  await expect(isReady).toHaveCount(0);
  rough.tls.newer = `\n// ${Date.now()}`;
  try {
    await page.evaluate(async () => void (await (await navigator.serviceWorker.ready).update()));
    await expect(isReady).toBeVisible();
    await page.evaluate(() => Object.assign(globalThis, { older: true }));
    await page.getByRole("button", { name: "Use it now" }).click();
    await page.waitForFunction(() => !("older" in globalThis));
    await expect(page.getByText("live", { exact: true })).toBeVisible();
    await expect(isReady).toHaveCount(0);
  } finally {
    rough.tls.newer = "";
  }
});

/** Stands for the browser's own connection to its push service, which there is none of without a network. */
function subscribeTo(subscription: ReturnType<PushService["subscription"]>): void {
  const KEPT = "what the browser subscribed with";
  const given = {
    toJSON: () => subscription,
    unsubscribe: () => {
      localStorage.removeItem(KEPT);
      return Promise.resolve(true);
    },
  } as unknown as PushSubscription;
  PushManager.prototype.getSubscription = () => Promise.resolve(localStorage.getItem(KEPT) === null ? null : given);
  PushManager.prototype.subscribe = (options) => {
    localStorage.setItem(KEPT, String(options?.applicationServerKey));
    return Promise.resolve(given);
  };
}

const shown = (page: Page) =>
  page.evaluate(async () => {
    const notifications = await (await navigator.serviceWorker.ready).getNotifications();
    return notifications.map(({ title, body, tag }) => ({ title, body, tag }));
  });

/** Hands the page's worker what its browser has decrypted, as often as it takes until there is something to be seen of it. */
async function deliver(page: Page, data: unknown): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const scope = page.url().replace(/#.*$/, "");
  let own: string | undefined;
  session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
    own = registrations.findLast((one) => one.scopeURL === scope && !one.isDeleted)?.registrationId ?? own;
  });
  await session.send("ServiceWorker.enable");
  await expect(async () => {
    if (own === undefined) throw new Error("there is no worker yet");
    await session.send("ServiceWorker.deliverPushMessage", { origin: new URL(scope).origin, registrationId: own, data: JSON.stringify(data) });
    await expect.poll(async () => (await shown(page)).length, { timeout: 2_000 }).toBe(1);
  }).toPass({ timeout: 30_000 });
  await session.detach();
}

test("a device that wants to be told is told that an agent asks and not what, and is led to it", async ({ open, rough }) => {
  const service = await PushService.start();
  try {
    const page = await open({ ...PHONE, ...APP, permissions: ["notifications"] });
    await page.addInitScript(subscribeTo, service.subscription());
    await pair(page, rough);
    await underWorker(page);
    await page.getByRole("button", { name: "Account of Ada" }).click();
    await page.getByRole("button", { name: "Settings of this browser…" }).click();
    const choice = page.getByRole("group", { name: "Tell this device of new asks" });
    await choice.getByRole("button", { name: "On" }).click();
    await expect(choice.getByRole("button", { name: "On" })).toHaveAttribute("aria-pressed", "true");
    await page.getByRole("button", { name: "Close" }).click();

    await rough.server.begin(ROUGH, asking("cat the-secret-plan"));
    await expect.poll(() => service.pushed.length).toBe(1);
    const [push] = service.pushed;
    if (push === undefined) throw new Error("nothing was pushed");
    const told = service.read(push) as { type: string; subject: string };
    expect(told.type).toBe("ask.opened");
    expect(JSON.stringify(told)).not.toContain("secret");
    const key = await page.evaluate(() => localStorage.getItem("what the browser subscribed with"));
    expect(service.isSignedWith(push, key ?? "")).toBe(true);

    await deliver(page, told);
    expect(await shown(page)).toEqual([{ title: "An agent asks", body: "Open Countersign to answer.", tag: told.subject }]);
    const [worker] = page.context().serviceWorkers();
    await worker?.evaluate(async () => {
      const { registration } = globalThis as unknown as { registration: ServiceWorkerRegistration };
      const [notification] = await registration.getNotifications();
      const Click = (globalThis as unknown as { NotificationEvent: new (type: string, about: object) => Event }).NotificationEvent;
      globalThis.dispatchEvent(new Click("notificationclick", { notification }));
    });
    await expect(page).toHaveURL(new RegExp(`#/asks/${told.subject}$`));
    expect(await shown(page)).toEqual([]);

    // One that is answered meanwhile is not worth a look any more.
    await deliver(page, told);
    const ask = askWith(page, "cat the-secret-plan");
    await button(ask, "Allow once").click();
    await expect(ask).toContainText("Delivered");
    await expect.poll(() => shown(page)).toEqual([]);

    // Who signed out is told no more, and an old notification leads to the gate.
    await page.getByRole("button", { name: "Account of Ada" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await expect(page.getByRole("alert")).toContainText("You signed out.");
    expect(await page.evaluate(() => localStorage.getItem("what the browser subscribed with"))).toBeNull();
    await page.goto(`${rough.tls.url}/app/#/asks/${told.subject}`);
    await expect(page.getByText("cat the-secret-plan")).toHaveCount(0);
  } finally {
    await service.stop();
  }
});

test("all that the app is made of is small, has its digest in its name, and is kept for ever", async ({ rough: { server } }) => {
  const worker = await (await fetch(`${server.url}/app/sw.js`)).text();
  const names = [...new Set(worker.match(/assets\/[\w.-]+/g) ?? [])];
  const sizes = await Promise.all(
    ["sw.js", ...names].map(async (name) => {
      const response = await fetch(`${server.url}/app/${name}`, { headers: { "Accept-Encoding": "br" } });
      expect(response.headers.get("cache-control")).toBe(name === "sw.js" ? "no-cache" : "public, max-age=31536000, immutable");
      if (name !== "sw.js") expect(name).toMatch(/-[\w-]{8}\.\w+$/);
      return { name, size: Number(response.headers.get("content-length")) };
    }),
  );
  const weigh = (ending: string) => sizes.filter(({ name }) => name.endsWith(ending)).reduce((sum, { size }) => sum + size, 0);
  expect(weigh(".js"), "scripts, compressed, in bytes").toBeGreaterThan(10 * 1024);
  expect(weigh(".js"), "scripts, compressed, in bytes").toBeLessThan(150 * 1024);
  expect(weigh(".css"), "styles, compressed, in bytes").toBeLessThan(40 * 1024);
});

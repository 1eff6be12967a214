/*
 * The app's worker: keeps the app's own files, so that it opens without a network, and shows what is pushed.
 *
 * It keeps files of the build alone, by names that change with them, and never anything of the API. A page comes from the
 * server whenever that answers. A new worker waits until the page says that it may take over.
 */
import { pushed } from "../text/pushed.ts";

declare const self: ServiceWorkerGlobalScope;
/** Written in by the build: the names of its files, and a digest of them. */
declare const SHELL_OF_THE_BUILD: { version: string; files: readonly string[] };

const SCOPE = self.registration.scope;
/** Several servers may stand behind one name. */
const FAMILY = `countersign ${SCOPE} `;
const CACHE = FAMILY + SHELL_OF_THE_BUILD.version;
/** For how long the server may keep a page waiting before it is shown as it was kept. */
const PATIENCE_MS = 5_000;
/** What proxies say when nobody is behind them. */
const NOBODY: ReadonlySet<number> = new Set([502, 503, 504]);

self.addEventListener("install", (event) => event.waitUntil(keepFiles()));
self.addEventListener("activate", (event) => event.waitUntil(takeOver()));

async function keepFiles(): Promise<void> {
  const cache = await caches.open(CACHE);
  const index = new Request(SCOPE, { cache: "reload" });
  const files = SHELL_OF_THE_BUILD.files.map((name) => new URL(name, SCOPE).href);
  await Promise.all([cache.add(index), cache.addAll(files)]);
}

async function takeOver(): Promise<void> {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith(FAMILY) && name !== CACHE).map((name) => caches.delete(name)));
  await self.clients.claim();
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname, href } = new URL(request.url);
  const scope = new URL(SCOPE);
  // The API is not below the app.
  if (request.method !== "GET" || origin !== scope.origin || !href.startsWith(SCOPE)) return;
  if (request.mode === "navigate" && pathname === scope.pathname) event.respondWith(page(request));
  else if (pathname.startsWith(`${scope.pathname}assets/`)) event.respondWith(file(request));
});

async function page(request: Request): Promise<Response> {
  const kept = () => caches.match(SCOPE, { cacheName: CACHE });
  try {
    const response = await Promise.race([fetch(request), late()]);
    return NOBODY.has(response.status) ? ((await kept()) ?? response) : response;
  } catch (problem) {
    const response = await kept();
    if (response === undefined) throw problem;
    return response;
  }
}

async function late(): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
  throw new Error("late");
}

async function file(request: Request): Promise<Response> {
  return (await caches.match(request, { cacheName: CACHE })) ?? fetch(request);
}

self.addEventListener("message", (event) => {
  if (event.data === "take over") void self.skipWaiting();
});

self.addEventListener("push", (event) => event.waitUntil(show(event.data)));

async function show(data: PushMessageData | null): Promise<void> {
  const told = read(data);
  const ask = /^ask_\w+$/.test(told.subject ?? "") ? told.subject : undefined;
  await self.registration.showNotification(ask === undefined ? pushed.other : pushed.title, {
    ...(ask === undefined ? {} : { body: pushed.body }),
    tag: ask ?? "countersign",
    icon: new URL("icons/icon-192.png", SCOPE).href,
    badge: new URL("icons/badge-96.png", SCOPE).href,
    data: { fragment: ask === undefined ? "#/" : `#/asks/${ask}` },
  });
}

function read(data: PushMessageData | null): { subject?: string } {
  try {
    const told: unknown = data?.json();
    return typeof told === "object" && told !== null ? told : {};
  } catch {
    return {};
  }
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { fragment } = event.notification.data as { fragment: string };
  event.waitUntil(open(fragment));
});

/** Shows a page of the app that is open, or opens one; who may see it is for the page and the server to say. */
async function open(fragment: string): Promise<void> {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const shown = pages.find((client) => client.url.startsWith(SCOPE));
  if (shown === undefined) {
    await self.clients.openWindow(SCOPE + fragment);
    return;
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a client of a worker has none
  shown.postMessage({ goTo: fragment });
  await shown.focus();
}

/*
 * Which page is shown, by the address's fragment: `#/asks/ask_…`.
 *
 * The fragment is used so that every page is served by the one file that the server knows, behind any prefix.
 */
import { createSignal } from "solid-js";

export type Route =
  | { page: "inbox" }
  | { page: "ask"; ask: string }
  | { page: "history"; ask?: string }
  | { page: "sessions" }
  | { page: "session"; session: string; item?: number }
  | { page: "jobs" }
  | { page: "job"; job: string }
  | { page: "workspaces" }
  | { page: "workspace"; workspace: string; part: HoldingsPart }
  | { page: "access"; part: AccessPart }
  | { page: "ledger"; part: LedgerPart };

/** What the page about access is in; the first is shown if none is named. */
export const ACCESS_PARTS = ["devices", "rules", "tokens", "roles"] as const;
export type AccessPart = (typeof ACCESS_PARTS)[number];
/** The same for the ledger. */
export const LEDGER_PARTS = ["figures", "audit"] as const;
export type LedgerPart = (typeof LEDGER_PARTS)[number];
/** What is shown of a workspace. */
export const HOLDINGS_PARTS = ["config", "skills", "commands", "plugins", "mcp", "exchange"] as const;
export type HoldingsPart = (typeof HOLDINGS_PARTS)[number];

/** The route that a fragment names; what cannot be read leads to the inbox. */
export function parseRoute(fragment: string): Route {
  const [head, id, ...rest] = fragment.replace(/^#?\/?/, "").split("/");
  const [place, ...more] = rest;
  if (head === "sessions" && id !== undefined && /^session_\w+$/.test(id) && place !== undefined && /^\d{1,9}$/.test(place) && more.length === 0) {
    return { page: "session", session: id, item: Number(place) };
  }
  if (head === "workspaces" && id !== undefined && /^ws_\w+$/.test(id) && rest.length <= 1) {
    const part = HOLDINGS_PARTS.find((known) => known === (rest[0] ?? "config"));
    return part === undefined ? { page: "inbox" } : { page: "workspace", workspace: id, part };
  }
  if (rest.length > 0) return { page: "inbox" };
  if (head === "asks" && id !== undefined && /^ask_\w+$/.test(id)) return { page: "ask", ask: id };
  if (head === "history" && id === undefined) return { page: "history" };
  if (head === "history" && id !== undefined && /^ask_\w+$/.test(id)) return { page: "history", ask: id };
  if (head === "sessions" && id === undefined) return { page: "sessions" };
  if (head === "sessions" && id !== undefined && /^session_\w+$/.test(id)) return { page: "session", session: id };
  if (head === "workspaces" && id === undefined) return { page: "workspaces" };
  if (head === "jobs" && id === undefined) return { page: "jobs" };
  if (head === "jobs" && id !== undefined && /^[\w-]+$/.test(id)) return { page: "job", job: id };
  if (head === "access") return { page: "access", part: ACCESS_PARTS.find((part) => part === id) ?? "devices" };
  if (head === "ledger") return { page: "ledger", part: LEDGER_PARTS.find((part) => part === id) ?? "figures" };
  return { page: "inbox" };
}

/** The fragment that names a route. */
export function fragmentOf(route: Route): string {
  switch (route.page) {
    case "inbox":
      return "#/";
    case "ask":
      return `#/asks/${route.ask}`;
    case "history":
      return route.ask === undefined ? "#/history" : `#/history/${route.ask}`;
    case "sessions":
      return "#/sessions";
    case "session":
      return route.item === undefined ? `#/sessions/${route.session}` : `#/sessions/${route.session}/${route.item}`;
    case "jobs":
      return "#/jobs";
    case "job":
      return `#/jobs/${route.job}`;
    case "access":
      return route.part === "devices" ? "#/access" : `#/access/${route.part}`;
    case "ledger":
      return route.part === "figures" ? "#/ledger" : `#/ledger/${route.part}`;
    case "workspaces":
      return "#/workspaces";
    case "workspace":
      return `#/workspaces/${route.workspace}${route.part === "config" ? "" : `/${route.part}`}`;
  }
}

/** The one-time code in the fragment of a pairing link. */
export function pairingCode(fragment: string): string | undefined {
  const code = /^#pair=([^&]+)$/.exec(fragment)?.[1];
  if (code === undefined) return undefined;
  try {
    return decodeURIComponent(code);
  } catch {
    return undefined;
  }
}

/** The code in what somebody pasted: a code, or the whole link. */
export function codeIn(pasted: string): string {
  const text = pasted.trim();
  const at = text.indexOf("#pair=");
  return at < 0 ? text : (pairingCode(text.slice(at)) ?? "");
}

const [route, setRoute] = createSignal<Route>({ page: "inbox" }, { equals: (a, b) => fragmentOf(a) === fragmentOf(b) });

export { route };

/** Follows the address from now on. */
export function followAddress(): void {
  readAddress();
  addEventListener("hashchange", readAddress);
}

function readAddress(): void {
  setRoute(parseRoute(location.hash));
}

/** Goes to another page, with a way back. */
export function goTo(to: Route): void {
  history.pushState(null, "", fragmentOf(to));
  setRoute(to);
}

/** Goes to another page in place of this one. */
export function replaceWith(to: Route): void {
  history.replaceState(null, "", fragmentOf(to));
  setRoute(to);
}

/** Takes the code out of the address, so that neither the history nor a screenshot keeps it. */
export function takePairingCode(): string | undefined {
  const code = pairingCode(location.hash);
  if (code !== undefined) history.replaceState(null, "", location.pathname + location.search);
  return code;
}

import { expect, test } from "vitest";
import { ACCESS_PARTS, codeIn, fragmentOf, LEDGER_PARTS, pairingCode, parseRoute, type Route } from "./router.ts";

test("every route is read back from its own address", () => {
  const routes: Route[] = [
    { page: "inbox" },
    { page: "ask", ask: "ask_01jcz5x8" },
    { page: "history" },
    { page: "history", ask: "ask_01jcz5x8" },
    { page: "sessions" },
    { page: "session", session: "session_01jcz5x8" },
    { page: "session", session: "session_01jcz5x8", item: 12 },
    { page: "jobs" },
    { page: "job", job: "adversarial-review-01jcz5x8" },
    ...ACCESS_PARTS.map((part) => ({ page: "access", part }) as const),
    ...LEDGER_PARTS.map((part) => ({ page: "ledger", part }) as const),
    { page: "workspaces" },
    { page: "workspace", workspace: "ws_01jcz5x8", part: "config" },
    { page: "workspace", workspace: "ws_01jcz5x8", part: "skills" },
  ];
  for (const route of routes) expect(parseRoute(fragmentOf(route))).toEqual(route);
});

test("an address that means nothing leads to the inbox", () => {
  for (const fragment of ["", "#", "#/", "#/nowhere", "#/asks", "#/asks/ses_1", "#/asks/ask_1/more", "#/asks/../x", "#/history/x", "#/workspaces/x", "#/workspaces/ws_1/nothing", "#/workspaces/ws_1/skills/more", "#/sessions/session_1/x", "#/sessions/session_1/1/2"]) {
    expect(parseRoute(fragment)).toEqual({ page: "inbox" });
  }
});

test("the code of a pairing link is read from the fragment alone", () => {
  expect(pairingCode("#pair=abc-123")).toBe("abc-123");
  expect(pairingCode("#pair=a%2Bb")).toBe("a+b");
  expect(pairingCode("#pair=")).toBeUndefined();
  expect(pairingCode("#pair=%")).toBeUndefined();
  expect(pairingCode("#/asks/ask_1")).toBeUndefined();
});

test("a pasted link is as good as a pasted code", () => {
  expect(codeIn("  abc-123\n")).toBe("abc-123");
  expect(codeIn("http://127.0.0.1:8787/app/#pair=abc-123 ")).toBe("abc-123");
});

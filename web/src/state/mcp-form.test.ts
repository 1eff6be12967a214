import { expect, test } from "vitest";
import { configOf, EMPTY_MCP, formOf } from "./mcp-form.ts";

test("a server that is read into the form and not touched is the same server", () => {
  const servers = [
    { type: "local", command: ["npx", "-y", "notes"], environment: { MODE: "a=b" }, timeout: 5000 },
    { type: "remote", url: "https://e.example/mcp", headers: { Authorization: "Bearer {env:T}" }, enabled: false, oauth: {} },
    { type: "remote", url: "https://e.example/mcp", enabled: true },
  ];
  for (const server of servers) expect(configOf(formOf(server), server)).toEqual({ config: server });
});

test("another kind leaves behind what only the first has", () => {
  const before = { type: "local", command: ["notes"], environment: { A: "1" }, timeout: 1 };
  const form = { ...formOf(before), kind: "remote" as const, url: " https://e.example " };
  expect(configOf(form, before)).toEqual({ config: { type: "remote", url: "https://e.example", timeout: 1 } });
});

test("a line that fits nothing is named", () => {
  const form = { ...EMPTY_MCP, command: "notes", environment: "A=1\nB" };
  expect(configOf(form, {})).toEqual({ badLine: "B" });
});

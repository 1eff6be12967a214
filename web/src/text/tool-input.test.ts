import { expect, test } from "vitest";
import { inputLine } from "./tool-input.ts";

test("a tool call is recalled by its most telling field", () => {
  expect(inputLine({ description: "List files", command: "ls -l" })).toBe("ls -l");
  expect(inputLine({ filePath: "src/main.rs", content: "…" })).toBe("src/main.rs");
  expect(inputLine({ command: "set -e\nmake" })).toBe("set -e …");
});

test("an input that tells nothing gives no line", () => {
  for (const input of [undefined, null, 7, {}, { command: 7 }, { command: "" }]) expect(inputLine(input)).toBe("");
});

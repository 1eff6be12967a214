import { expect, test } from "vitest";
import { withShell } from "./shell.ts";

const CODE = "const a=SHELL_OF_THE_BUILD.files,b=SHELL_OF_THE_BUILD.version";

test("the worker has the names of the files, in order", () => {
  const code = withShell(CODE, ["assets/b-2.js", "assets/a-1.css"], ["b", "a"]);
  expect(code).not.toContain("SHELL_OF_THE_BUILD");
  expect(code).toContain('"files":["assets/a-1.css","assets/b-2.js"]');
});

test("the worker changes with whatever the build is made of", () => {
  const one = withShell(CODE, ["assets/a-1.js"], ["<html>one"]);
  expect(withShell(CODE, ["assets/a-1.js"], ["<html>two"])).not.toBe(one);
  expect(withShell(CODE, ["assets/a-1.js"], ["<html>one"])).toBe(one);
});

test("a worker without a place for them stops the build", () => {
  expect(() => withShell("const a=1", [], [])).toThrow("no place");
});

import { expect, test } from "vitest";
import { isOutside, pathsOutside } from "./paths.ts";
import { tokens } from "./shell.ts";

const ROOT = "/home/ada/garden";

test("a path is outside when it leads out, however it is written", () => {
  for (const path of ["/etc/passwd", "~/.ssh/id", "$HOME/x", "../shed", "beds/../../shed", "/home/ada/gardening", "/"]) {
    expect([path, isOutside(path, ROOT, ROOT)]).toEqual([path, true]);
  }
  for (const path of ["beds", "./beds/a", `${ROOT}/beds`, ROOT, "beds/../a", "/dev/null"]) {
    expect([path, isOutside(path, ROOT, ROOT)]).toEqual([path, false]);
  }
  expect(isOutside("../a", `${ROOT}/beds`, ROOT), "one up from a folder within").toBe(false);
});

test("what a command reaches for outside is found in its words and strings, not in its programs", () => {
  const command = `/usr/bin/cat "/etc/hosts" beds/a > ../out.txt --key=~/.ssh/id 2>/dev/null; cp /etc/hosts a/../../b`;
  expect(pathsOutside(tokens(command), ROOT, ROOT)).toEqual(["/etc/hosts", "../out.txt", "~/.ssh/id", "a/../../b"]);
});

test("a pattern of a search or a web address is no path", () => {
  expect(pathsOutside(tokens("curl https://example.org/a | grep -v //"), ROOT, ROOT)).toEqual([]);
});

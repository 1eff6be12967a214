import { expect, test } from "vitest";
import { changeWithin, folded, parseDiff, repeatsPath, sideBySide } from "./diff.ts";

const PATCH = `Index: src/main.rs
===================================================================
--- src/main.rs
+++ src/main.rs
@@ -1,4 +1,5 @@ fn main
 fn main() {
--- a comment that looks like a file name
+    let x = 1;
+++ one that looks like the other
 }
 // end
\\ No newline at end of file
`;

test("lines are told apart and numbered on both sides", () => {
  const { lines, added, removed } = parseDiff(PATCH);
  expect({ added, removed }).toEqual({ added: 2, removed: 1 });
  expect(lines.slice(4)).toEqual([
    { kind: "hunk", text: "@@ -1,4 +1,5 @@ fn main" },
    { kind: "context", text: "fn main() {", before: 1, after: 1 },
    { kind: "removed", text: "-- a comment that looks like a file name", before: 2 },
    { kind: "added", text: "    let x = 1;", after: 2 },
    { kind: "added", text: "++ one that looks like the other", after: 3 },
    { kind: "context", text: "}", before: 3, after: 4 },
    { kind: "context", text: "// end", before: 4, after: 5 },
    { kind: "note", text: "\\ No newline at end of file" },
  ]);
});

test("no line is lost, whatever the patch looks like", () => {
  for (const patch of [PATCH, "not a patch\nat all", "@@ -1 +1 @@\n-a\n+b\n+c beyond the hunk\n", "@@ -9,2 +9 @@\n\n\n"]) {
    const { lines } = parseDiff(patch);
    const marks = { context: " ", removed: "-", added: "+", hunk: "", note: "" };
    const written = lines.map((line) => marks[line.kind] + line.text);
    const wanted = patch.replace(/\n$/, "").split("\n");
    // An empty context line may have lost its blank on the way; it is the same line.
    expect(written.map((line) => line.trimEnd())).toEqual(wanted.map((line) => line.trimEnd()));
  }
});

test("a head without counts is about one line", () => {
  expect(parseDiff("@@ -7 +7 @@\n-a\n+b").lines.slice(1)).toEqual([
    { kind: "removed", text: "a", before: 7 },
    { kind: "added", text: "b", after: 7 },
  ]);
});

test("two files in one patch start their numbers anew", () => {
  const { lines } = parseDiff("--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n--- b\n+++ b\n@@ -5 +5 @@\n-p\n+q\n");
  expect(lines.map((line) => line.kind)).toEqual([
    "note", "note", "hunk", "removed", "added", "note", "note", "hunk", "removed", "added",
  ]);
  expect(lines.at(-1)).toEqual({ kind: "added", text: "q", after: 5 });
});

test("only a line that names the same file again says nothing new", () => {
  const repeated = parseDiff(PATCH).lines.map((line) => repeatsPath(line, "src/main.rs"));
  expect(repeated.slice(0, 4)).toEqual([true, true, true, true]);
  expect(repeated.slice(4)).not.toContain(true);
  const others = parseDiff("--- /dev/null\n+++ b/src/other.rs\n@@ -0,0 +1 @@\n+--- src/main.rs\n").lines;
  expect(others.map((line) => repeatsPath(line, "src/main.rs"))).not.toContain(true);
});

test("an empty patch has no line", () => {
  expect(parseDiff("")).toEqual({ lines: [], added: 0, removed: 0 });
});

const patchOf = (...lines: string[]) => {
  const before = lines.filter((line) => !line.startsWith("+")).length;
  const after = lines.filter((line) => !line.startsWith("-")).length;
  return parseDiff(`@@ -1,${before} +1,${after} @@\n${lines.join("\n")}\n`).lines;
};
const same = (count: number) => Array.from({ length: count }, (_, line) => ` same ${line}`);

test("what is unchanged and far from every change is folded, and nothing is lost by it", () => {
  const lines = patchOf(...same(10), "-old", "+new", ...same(20), "+more", ...same(4));
  const stretches = folded(lines);
  expect(stretches.map(({ kind, lines: { length } }) => `${kind} ${length}`)).toEqual([
    "shown 1",
    "folded 7",
    "shown 8",
    "folded 14",
    "shown 8",
  ]);
  expect(stretches.flatMap((stretch) => stretch.lines)).toEqual(lines);
});

test("a fold that would spare little is none", () => {
  expect(folded(patchOf("-a", ...same(9), "+b")).map(({ kind }) => kind)).toEqual(["shown"]);
});

test("side by side, what was removed stands beside what came in its place", () => {
  const rows = sideBySide(patchOf(" a", "-b", "-c", "+d", " e", "+f"));
  const words = rows.map((row) => ("whole" in row ? "@" : [row.before?.text, row.after?.text]));
  expect(words).toEqual(["@", ["a", "a"], ["b", "d"], ["c", undefined], ["e", "e"], [undefined, "f"]]);
});

test("within a line, what differs is told apart from what does not", () => {
  expect(changeWithin("let a = 1;", "let bc = 1;")).toEqual({ head: "let ", before: "a", after: "bc", tail: " = 1;" });
  expect(changeWithin("beans", "broad beans")).toEqual({ head: "", before: "", after: "broad ", tail: "beans" });
  expect(changeWithin("an old line", "a new line")).toEqual({ head: "", before: "an old", after: "a new", tail: " line" });
  expect(changeWithin("one thing", "another matter")).toBeUndefined();
  expect(changeWithin("\u{1F600} smile", "\u{1F601} smile")).toMatchObject({ before: "\u{1F600}", after: "\u{1F601}" });
});

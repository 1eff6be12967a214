import { expect, test } from "vitest";
import { programs, tokens, type TokenKind } from "./shell.ts";

const kinds = (command: string) =>
  tokens(command)
    .filter((token) => token.kind !== "space")
    .map((token) => `${token.kind}:${token.text}`);

test("a command, its flags, words and strings are told apart", () => {
  expect(kinds(`git commit -m "it's done" 'as it is' file`)).toEqual([
    "command:git",
    "word:commit",
    "flag:-m",
    `string:"it's done"`,
    "string:'as it is'",
    "word:file",
  ]);
});

test("each command of a line is one", () => {
  const line = "cd /tmp && A=1 npm test | tee log; sudo -n rm -rf x & (echo hi) || exit 1";
  expect(programs(tokens(line))).toEqual(["cd", "npm", "tee", "sudo", "rm", "echo", "exit"]);
});

test("what hides in substitutions, and in strings, is found", () => {
  expect(programs(tokens('echo "today $(date +%F) and `whoami`" $(curl -s x | sh)'))).toEqual(["echo", "date", "whoami", "curl", "sh"]);
  expect(kinds('echo "$HOME/a" ${B:-c} $1')).toEqual([
    "command:echo",
    'string:"',
    "variable:$HOME",
    'string:/a"',
    "variable:${B:-c}",
    "variable:$1",
  ]);
});

test("a comment is one only where a word begins", () => {
  expect(kinds("echo a#b # the rest; rm -rf /")).toEqual(["command:echo", "word:a#b", "comment:# the rest; rm -rf /"]);
});

test("redirections lead to words, and a here-document is text", () => {
  expect(kinds("cat <<'EOF' > out.txt\nrm -rf /\nEOF\nls 2>&1")).toEqual([
    "command:cat",
    "redirect:<<",
    "string:'EOF'",
    "redirect:>",
    "word:out.txt",
    "string:rm -rf /\nEOF",
    "command:ls",
    "redirect:2>&",
    "word:1",
  ]);
});

test("words of the shell are no programs", () => {
  expect(programs(tokens("for f in *.ts; do wc -l $f; done; if true; then echo; fi"))).toEqual(["wc", "true", "echo"]);
});

test("put together again, the parts are the command to the letter", () => {
  const letters = ["a", " ", "\n", "'", '"', "$", "(", ")", "`", "\\", "#", "<", "<<E", ">", "|", "&", ";", "{", "}", "-x", "=", "\t", "é", "\u202E", "\u{1F600}", "E\n", "${"];
  const seed = 20_261_117;
  let state = seed;
  const dice = (sides: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >> 8) % sides;
  };
  for (let trial = 0; trial < 3_000; trial += 1) {
    const command = Array.from({ length: dice(30) }, () => letters[dice(letters.length)]).join("");
    expect(
      tokens(command)
        .map((token) => token.text)
        .join(""),
      `seed ${seed}`,
    ).toBe(command);
  }
});

test("nesting without end does not exhaust it", () => {
  const deep = `${"$(".repeat(20_000)}x`;
  expect(
    tokens(deep)
      .map((token) => token.text)
      .join(""),
  ).toBe(deep);
  const seen: ReadonlySet<TokenKind> = new Set(tokens('"'.repeat(9_999)).map((token) => token.kind));
  expect([...seen]).toEqual(["string"]);
});

import { expect, test } from "vitest";
import { inlinesOf, outermost, parseMarkdown, plainLine, safeAddress, type Block, type Inline } from "./markdown.ts";

const text = (words: string): Inline => ({ kind: "text", text: words });
const paragraph = (...inlines: Inline[]): Block => ({ kind: "paragraph", inlines });

/** Every letter that is in what was read. */
function letters(blocks: readonly Block[]): string {
  const ofInline = (inline: Inline): string =>
    "text" in inline ? inline.text : "inlines" in inline ? inline.inlines.map(ofInline).join("") : "\n";
  return blocks
    .map((block) => {
      switch (block.kind) {
        case "heading":
        case "paragraph":
          return block.inlines.map(ofInline).join("");
        case "code":
          return block.text;
        case "quote":
          return letters(block.blocks);
        case "list":
          return block.items.map((item) => letters(item.blocks)).join("\n");
        case "table":
          return [block.head, ...block.rows].flat(2).map(ofInline).join(" ");
        case "rule":
          return "";
      }
    })
    .join("\n");
}

test("blocks are told apart", () => {
  const read = parseMarkdown(
    ["# Plan", "", "First *this*, then **that**.", "", "```rust", "fn main() {}", "", "// *no*", "```", "", "> quoted", "", "---", "1. one", "2. two", "   - deep"].join("\n"),
  );
  expect(read).toEqual([
    { kind: "heading", level: 1, inlines: [text("Plan")] },
    paragraph(text("First "), { kind: "emphasis", inlines: [text("this")] }, text(", then "), { kind: "strong", inlines: [text("that")] }, text(".")),
    { kind: "code", language: "rust", text: "fn main() {}\n\n// *no*" },
    { kind: "quote", blocks: [paragraph(text("quoted"))] },
    { kind: "rule" },
    {
      kind: "list",
      start: 1,
      items: [
        { blocks: [paragraph(text("one"))] },
        { blocks: [paragraph(text("two")), { kind: "list", start: undefined, items: [{ blocks: [paragraph(text("deep"))] }] }] },
      ],
    },
  ]);
});

test("a table has its head and its rows, and a bar in code is no border", () => {
  const [table] = parseMarkdown("| a | b |\n|---|:-:|\n| `x|y` | 2 |\n| 3 |");
  expect(table).toEqual({
    kind: "table",
    head: [[text("a")], [text("b")]],
    rows: [
      [[{ kind: "code", text: "x|y" }], [text("2")]],
      [[text("3")], []],
    ],
  });
});

test("steps that can be ticked say whether they are", () => {
  const [list] = parseMarkdown("- [x] done\n- [ ] to do\n- plain");
  expect(list?.kind === "list" && list.items.map((item) => item.done)).toEqual([true, false, undefined]);
});

test("HTML stays the text that it is", () => {
  const hostile = '<script>alert(1)</script> <img src=x onerror="alert(1)"> <a href="javascript:alert(1)">x</a>';
  expect(parseMarkdown(hostile)).toEqual([paragraph(text(hostile))]);
});

test("only an address of the web is a link, and none that leads elsewhere than it looks", () => {
  expect(inlinesOf("[here](https://example.com/a?b=c)")).toEqual([{ kind: "link", href: "https://example.com/a?b=c", inlines: [text("here")] }]);
  for (const address of ["javascript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "//evil.example", "https://bank.example@evil.example/", "https://exa\u202emple.com"]) {
    expect({ address, safe: safeAddress(address) }).toEqual({ address, safe: undefined });
    expect(inlinesOf(`[x](${address})`).filter((inline) => inline.kind === "link" && inline.inlines.some((word) => "text" in word && word.text === "x"))).toEqual([]);
  }
  expect(inlinesOf("see https://example.com/x.").map((inline) => inline.kind)).toEqual(["text", "link", "text"]);
});

test("a picture is named and not fetched", () => {
  expect(inlinesOf("![a map](https://example.com/map.png)")).toEqual([{ kind: "link", href: "https://example.com/map.png", inlines: [text("a map")] }]);
});

test("stars and underscores that mark nothing stay", () => {
  for (const plain of ["2 * 3 * 4", "snake_case_name", "**open", "a ** b", "*", "`tick"]) expect(inlinesOf(plain)).toEqual([text(plain)]);
});

test("what is being said is read as far as it goes", () => {
  expect(parseMarkdown("```sh\necho one")).toEqual([{ kind: "code", language: "sh", text: "echo one" }]);
});

test("the outermost pieces put together are the text, and a fence or a list is one of them", () => {
  const whole = "one\ntwo\n\n```\na\n\nb\n```\n\n- x\n\n- y\n\n  more\n\nend";
  const pieces = outermost(whole);
  expect(pieces).toEqual(["one\ntwo", "```\na\n\nb\n```\n", "- x\n\n- y\n\n  more\n", "end"].map((piece) => piece.trimEnd()).map((piece) => expect.stringContaining(piece)));
  expect(pieces.flatMap((piece) => parseMarkdown(piece))).toEqual(parseMarkdown(whole));
});

test("hostile texts are read in no time and lose no letter", () => {
  const traps = ["*".repeat(20_000), "[".repeat(20_000), "_a".repeat(10_000), "`".repeat(19_999), "> ".repeat(10_000) + "x", "- ".repeat(10_000) + "x", "|".repeat(20_000) + "\n" + "|-".repeat(10_000), "**a ".repeat(5_000), "[a](".repeat(5_000), "#".repeat(20_000), "a\n".repeat(10_000), "`a``b".repeat(4_000)];
  for (const trap of traps) {
    const began = performance.now();
    parseMarkdown(trap);
    outermost(trap);
    expect(performance.now() - began).toBeLessThan(10_000);
  }
  const long = "word ".repeat(10_000).trim();
  expect(letters(parseMarkdown(long))).toBe(long);
});

test("a line without its marks has all its words", () => {
  expect(plainLine("Sorted **nine _rows_** with `sort`, see [the log](https://example.com)")).toBe("Sorted nine rows with sort, see the log");
  expect(plainLine("2 * 3 * 4 stays")).toBe("2 * 3 * 4 stays");
});

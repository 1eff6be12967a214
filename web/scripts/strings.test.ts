/* Every word that the page itself says is in `src/text`, so that it can be said in another language. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const SOURCE = resolve(import.meta.dirname, "../src");
/** Attributes that somebody reads or hears. */
const SAID: ReadonlySet<string> = new Set(["aria-label", "placeholder", "title", "alt", "label", "lead", "sentence", "fallback", "legend", "hint"]);

/** The words in a file of the page that are said there and not in `src/text`. */
function wordsIn(name: string, text: string): string[] {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const found: string[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isJsxText(node)) found.push(node.text.trim());
    if (ts.isJsxAttribute(node) && SAID.has(node.name.getText()) && node.initializer !== undefined) found.push(...literals(node.initializer));
    if (ts.isJsxExpression(node) && !ts.isJsxAttribute(node.parent) && node.expression !== undefined) found.push(...spoken(node.expression));
    ts.forEachChild(node, look);
  };
  look(file);
  return found.filter((words) => /\p{Letter}{2}/u.test(words));
}

/** The texts that an expression comes to, in whichever case. */
function spoken(node: ts.Expression): string[] {
  if (ts.isConditionalExpression(node)) return [...spoken(node.whenTrue), ...spoken(node.whenFalse)];
  if (ts.isParenthesizedExpression(node)) return spoken(node.expression);
  return ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateExpression(node) ? literals(node) : [];
}

function literals(node: ts.Node): string[] {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return [node.text];
  if (ts.isJsxExpression(node)) return node.expression === undefined ? [] : spoken(node.expression);
  return ts.isTemplateExpression(node) ? [node.head.text, ...node.templateSpans.map((span) => span.literal.text)] : [];
}

test("no part of the page has words of its own", () => {
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".tsx"));
  expect(files.length).toBeGreaterThan(30);
  const found = files.flatMap((name) => wordsIn(name, readFileSync(join(SOURCE, name), "utf8")).map((words) => `${name}: ${words}`));
  expect(found).toEqual([]);
});

/** Whole sentences in a file that shows nothing itself. */
function sentencesIn(name: string, text: string): string[] {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) found.push(literals(node).join("…"));
    ts.forEachChild(node, look);
  };
  look(file);
  return found.filter((words) => / .*\.$|^[A-Z].* .*…$/.test(words));
}

test("no sentence is made where nothing is shown", () => {
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter(
    (name) => /^(?:api|state)\/.*\.ts$|^\w+\.ts$/.test(name) && !/\.test\.ts$|\.d\.ts$|samples\.ts$/.test(name),
  );
  expect(files.length).toBeGreaterThan(20);
  const found = files.flatMap((name) => sentencesIn(name, readFileSync(join(SOURCE, name), "utf8")).map((words) => `${name}: ${words}`));
  expect(found).toEqual([]);
  expect(sentencesIn("a.ts", 'f("It went wrong."); g(`It was ${x} again.`); h("a key");')).toEqual(["It went wrong.", "It was … again."]);
});

test("words are found wherever they stand", () => {
  const page = `<p title="One thing" class="not this">Two {a ? "three" : \`four \${b}\`} <img alt={"five"} /> · 6 <kbd>a</kbd></p>`;
  expect(wordsIn("page.tsx", page)).toEqual(["One thing", "Two", "three", "four ", "five"]);
});

/*
 * Reads Markdown as agents write it, into values that the page draws as elements of its own: no text of theirs is ever
 * read as HTML. Every letter is kept, each is looked at a bounded number of times, and what cannot be read as something
 * stays the text that it is.
 */

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong"; inlines: Inline[] }
  | { kind: "emphasis"; inlines: Inline[] }
  | { kind: "struck"; inlines: Inline[] }
  | { kind: "link"; href: string; inlines: Inline[] }
  | { kind: "break" };

export interface ListItem {
  /** Whether it is ticked, for one that can be. */
  done?: boolean;
  blocks: Block[];
}

export type Block =
  | { kind: "heading"; level: number; inlines: Inline[] }
  | { kind: "paragraph"; inlines: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "list"; start: number | undefined; items: ListItem[] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

/** Lists in lists and quotes in quotes go so deep; what is deeper is a paragraph. */
const DEEPEST = 6;
/** Words in words, as in `**_so_**`. */
const DEEPEST_WORDS = 4;
/** A paragraph that is longer is read by nobody for its stars. */
const LONGEST_WORDS = 20_000;
/** A table with more columns is none. */
const MOST_COLUMNS = 30;

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})(?:\s+(.*))?$/;
const RULE = /^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;
const QUOTE = /^ {0,3}> ?/;
const DIVIDER = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

/**
 * The text cut into its outermost blocks, so that one that is still being said is read anew alone.
 *
 * A cut is at a blank line that is in no fence and that nothing indented or listed follows.
 */
export function outermost(text: string): string[] {
  const pieces: string[] = [];
  let piece: string[] = [];
  let fence: string | undefined;
  let afterBlank = false;
  for (const line of text.split("\n")) {
    const isBlank = fence === undefined && line.trim() === "";
    if (afterBlank && !isBlank && piece.length > 0 && !goesOn(line, piece)) {
      pieces.push(piece.join("\n"));
      piece = [];
    }
    if (!isBlank || piece.length > 0) piece.push(line);
    if (fence === undefined) fence = FENCE.exec(line)?.[1];
    else if (closes(line, fence)) fence = undefined;
    afterBlank = isBlank && fence === undefined;
  }
  while (piece.at(-1)?.trim() === "") piece.pop();
  if (piece.length > 0) pieces.push(piece.join("\n"));
  return pieces;
}

/** Whether a line behind a blank one still belongs to the piece before it: what is listed, or within what is listed. */
function goesOn(line: string, piece: readonly string[]): boolean {
  const isList = ITEM.test(piece[0] ?? "");
  return isList && (ITEM.test(line) || /^ {2,}|^\t/.test(line));
}

export function parseMarkdown(text: string): Block[] {
  return blocksOf(text.split("\n"), 0);
}

function blocksOf(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let words: string[] = [];
  const settle = () => {
    if (words.length > 0) blocks.push({ kind: "paragraph", inlines: inlinesOf(words.join("\n").trim()) });
    words = [];
  };
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const fence = FENCE.exec(line);
    if (fence !== null) {
      settle();
      const end = endOfFence(lines, at, fence[1] ?? "");
      blocks.push({ kind: "code", language: fence[2] ?? "", text: lines.slice(at + 1, end).join("\n") });
      at = end + 1;
      continue;
    }
    const heading = HEADING.exec(line);
    if (heading !== null) {
      settle();
      blocks.push({ kind: "heading", level: heading[1]?.length ?? 1, inlines: inlinesOf((heading[2] ?? "").replace(/\s+#+\s*$/, "")) });
      at += 1;
      continue;
    }
    if (RULE.test(line)) {
      settle();
      blocks.push({ kind: "rule" });
      at += 1;
      continue;
    }
    if (depth < DEEPEST && QUOTE.test(line)) {
      settle();
      let end = at;
      while (end < lines.length && QUOTE.test(lines[end] ?? "")) end += 1;
      blocks.push({ kind: "quote", blocks: blocksOf(lines.slice(at, end).map((each) => each.replace(QUOTE, "")), depth + 1) });
      at = end;
      continue;
    }
    // A number in the middle of a sentence begins no list.
    const item = depth < DEEPEST && (words.length === 0 || /^ {0,3}[-*+] /.test(line)) ? ITEM.exec(line) : null;
    if (item !== null) {
      settle();
      const { list, end } = listAt(lines, at, item, depth);
      blocks.push(list);
      at = end;
      continue;
    }
    if (line.includes("|") && DIVIDER.test(lines[at + 1] ?? "") && (lines[at + 1] ?? "").includes("-")) {
      const { table, end } = tableAt(lines, at);
      if (table !== undefined) {
        settle();
        blocks.push(table);
        at = end;
        continue;
      }
    }
    if (line.trim() === "") settle();
    else words.push(line);
    at += 1;
  }
  settle();
  return blocks;
}

/** The line that closes a fence; one that nobody closes goes on to the end, as it does while it is being said. */
function endOfFence(lines: readonly string[], at: number, fence: string): number {
  let end = at + 1;
  while (end < lines.length && !closes(lines[end] ?? "", fence)) end += 1;
  return end;
}

function closes(line: string, fence: string): boolean {
  const text = line.trim();
  return text.length >= fence.length && [...text].every((letter) => letter === fence[0]);
}

function listAt(lines: readonly string[], from: number, first: RegExpExecArray, depth: number): { list: Block; end: number } {
  const isOrdered = /\d/.test(first[2] ?? "");
  const items: ListItem[] = [];
  let at = from;
  while (at < lines.length) {
    const mark = ITEM.exec(lines[at] ?? "");
    if (mark === null || /\d/.test(mark[2] ?? "") !== isOrdered || RULE.test(lines[at] ?? "")) break;
    const width = mark[0].length;
    const within = [(lines[at] ?? "").slice(width)];
    at += 1;
    let fence = FENCE.exec(within[0] ?? "")?.[1];
    while (at < lines.length) {
      const line = lines[at] ?? "";
      const indent = line.length - line.trimStart().length;
      const isWithin = indent >= Math.min(width, 2) && line.trim() !== "";
      const isBlank = line.trim() === "";
      // Words that go on without being set in belong to what was being said.
      const isLazy = fence === undefined && !isBlank && indent < 2 && !ITEM.test(line) && !startsBlock(line) && lines[at - 1]?.trim() !== "";
      if (!isWithin && !isBlank && !isLazy) break;
      if (isBlank && !/^\s{2,}\S/.test(lines[at + 1] ?? "") && fence === undefined && !ITEM.test(lines[at + 1] ?? "")) break;
      if (isBlank && ITEM.test(lines[at + 1] ?? "") && !/^\s{2,}/.test(lines[at + 1] ?? "")) {
        at += 1;
        break;
      }
      const inner = line.slice(Math.min(indent, width));
      within.push(inner);
      if (fence === undefined) fence = FENCE.exec(inner)?.[1];
      else if (closes(inner, fence)) fence = undefined;
      at += 1;
    }
    const box = /^\[([ xX])\] /.exec(within[0] ?? "");
    if (box !== null) within[0] = (within[0] ?? "").slice(box[0].length);
    items.push({ ...(box === null ? {} : { done: box[1] !== " " }), blocks: blocksOf(within, depth + 1) });
  }
  return { list: { kind: "list", start: isOrdered ? Number.parseInt(first[2] ?? "1", 10) : undefined, items }, end: at };
}

function startsBlock(line: string): boolean {
  return FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || RULE.test(line);
}

function tableAt(lines: readonly string[], at: number): { table: Block | undefined; end: number } {
  const head = cells(lines[at] ?? "");
  if (head.length > MOST_COLUMNS || cells(lines[at + 1] ?? "").length !== head.length) return { table: undefined, end: at };
  const rows: Inline[][][] = [];
  let end = at + 2;
  while (end < lines.length && (lines[end] ?? "").includes("|") && (lines[end] ?? "").trim() !== "") {
    const row = cells(lines[end] ?? "");
    rows.push(head.map((_, column) => inlinesOf(row[column] ?? "")));
    end += 1;
  }
  return { table: { kind: "table", head: head.map((cell) => inlinesOf(cell)), rows }, end };
}

function cells(line: string): string[] {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  const found: string[] = [];
  let cell = "";
  let isCode = false;
  for (let at = 0; at < inner.length; at += 1) {
    const letter = inner[at] ?? "";
    if (letter === "\\" && inner[at + 1] === "|") {
      cell += "|";
      at += 1;
    } else if (letter === "|" && !isCode) {
      found.push(cell.trim());
      cell = "";
    } else {
      if (letter === "`") isCode = !isCode;
      cell += letter;
    }
  }
  found.push(cell.trim());
  return found;
}

/** What words can be marked with, the longer ones first. */
const MARKS = [
  { mark: "**", kind: "strong" },
  { mark: "__", kind: "strong" },
  { mark: "~~", kind: "struck" },
  { mark: "*", kind: "emphasis" },
  { mark: "_", kind: "emphasis" },
] as const;

export function inlinesOf(text: string, depth = 0): Inline[] {
  if (text.length > LONGEST_WORDS) return [{ kind: "text", text }];
  const found: Inline[] = [];
  let plain = "";
  /** Marks that are known to be closed nowhere behind here: none is looked for twice. */
  const unclosed = new Set<string>();
  const settle = () => {
    if (plain !== "") found.push({ kind: "text", text: plain });
    plain = "";
  };
  const take = (inline: Inline) => {
    settle();
    found.push(inline);
  };
  let at = 0;
  while (at < text.length) {
    const letter = text[at] ?? "";
    if (letter === "\\" && /[\\`*_{}[\]()#+\-.!~|<>]/.test(text[at + 1] ?? "")) {
      plain += text[at + 1] ?? "";
      at += 2;
      continue;
    }
    if (letter === "\n") {
      take({ kind: "break" });
      at += 1;
      continue;
    }
    if (letter === "`") {
      const fence = /^`+/.exec(text.slice(at, at + 40))?.[0] ?? "`";
      const end = unclosed.has(fence) ? -1 : closing(text, fence, at + fence.length);
      if (end >= 0) {
        const code = text.slice(at + fence.length, end);
        take({ kind: "code", text: /^ .*[^ ].* $/s.test(code) ? code.slice(1, -1) : code });
        at = end + fence.length;
        continue;
      }
      unclosed.add(fence);
      plain += fence;
      at += fence.length;
      continue;
    }
    if (depth < DEEPEST_WORDS && (letter === "[" || (letter === "!" && text[at + 1] === "["))) {
      const link = linkAt(text, letter === "!" ? at + 1 : at);
      if (link !== undefined) {
        // A picture would be fetched from somewhere: it is named and not shown.
        take({ kind: "link", href: link.href, inlines: inlinesOf(link.words === "" ? link.href : link.words, depth + 1) });
        at = link.end;
        continue;
      }
    }
    if (letter === "h") {
      const address = addressAt(text, at);
      if (address !== undefined) {
        take({ kind: "link", href: address, inlines: [{ kind: "text", text: address }] });
        at += address.length;
        continue;
      }
    }
    const marked = depth < DEEPEST_WORDS ? markedAt(text, at, unclosed) : undefined;
    if (marked !== undefined) {
      take({ kind: marked.kind, inlines: inlinesOf(marked.words, depth + 1) });
      at = marked.end;
      continue;
    }
    plain += letter;
    at += 1;
  }
  settle();
  return found;
}

/** Where a run of backticks of exactly this length begins. */
function closing(text: string, fence: string, from: number): number {
  let at = text.indexOf(fence, from);
  while (at >= 0) {
    if (text[at - 1] !== "`" && text[at + fence.length] !== "`") return at;
    while (text[at] === "`") at += 1;
    at = text.indexOf(fence, at);
  }
  return -1;
}

function markedAt(text: string, at: number, unclosed: Set<string>): { kind: "strong" | "emphasis" | "struck"; words: string; end: number } | undefined {
  const found = MARKS.find(({ mark }) => text.startsWith(mark, at));
  if (found === undefined || unclosed.has(found.mark)) return undefined;
  const { mark, kind } = found;
  const first = text[at + mark.length] ?? " ";
  // A star between blanks is a star, and an underscore within a word is part of it.
  if (/\s/.test(first) || (mark.startsWith("_") && isLetter(text[at - 1]))) return undefined;
  let end = text.indexOf(mark, at + mark.length + 1);
  while (end >= 0) {
    const closesHere =
      !/\s/.test(text[end - 1] ?? " ") &&
      text[end - 1] !== "\\" &&
      !(mark.startsWith("_") && isLetter(text[end + mark.length])) &&
      !(mark.length === 1 && (text[end + 1] === mark || text[end - 1] === mark));
    if (closesHere) return { kind, words: text.slice(at + mark.length, end), end: end + mark.length };
    end = text.indexOf(mark, end + mark.length);
  }
  unclosed.add(mark);
  return undefined;
}

function isLetter(letter: string | undefined): boolean {
  return letter !== undefined && /[\p{Letter}\p{Number}]/u.test(letter);
}

/** The longest words and the longest address of a link. */
const LONGEST_LINK = 2_000;

function linkAt(text: string, at: number): { words: string; href: string; end: number } | undefined {
  let depth = 0;
  let close = -1;
  for (let place = at; place < Math.min(text.length, at + LONGEST_LINK); place += 1) {
    if (text[place] === "\\") place += 1;
    else if (text[place] === "[") depth += 1;
    else if (text[place] === "]") {
      depth -= 1;
      if (depth === 0) {
        close = place;
        break;
      }
    }
  }
  if (close < 0 || text[close + 1] !== "(") return undefined;
  const end = text.slice(close + 2, close + 2 + LONGEST_LINK).search(/[)\n]/);
  if (end < 0 || text[close + 2 + end] !== ")") return undefined;
  const href = safeAddress((text.slice(close + 2, close + 2 + end).trim().split(/\s/)[0] ?? "").replace(/^<|>$/g, ""));
  return href === undefined ? undefined : { words: text.slice(at + 1, close), href, end: close + 3 + end };
}

function addressAt(text: string, at: number): string | undefined {
  if (isLetter(text[at - 1])) return undefined;
  const found = /^https?:\/\/[^\s<>"`{}|\\^]+/.exec(text.slice(at, at + LONGEST_LINK))?.[0];
  // What ends the sentence is not part of the address.
  const address = found?.replace(/[.,;:!?'*_)\]]+$/, "");
  return address === undefined ? undefined : safeAddress(address);
}

/** A line without its marks, for where there is no room to draw them. */
export function plainLine(text: string): string {
  const plain = (inlines: readonly Inline[]): string =>
    inlines.map((each) => ("inlines" in each ? plain(each.inlines) : each.kind === "break" ? " " : each.text)).join("");
  return plain(inlinesOf(text));
}

/** The address if a person can be led there: one of the web alone, with nothing hidden in it. */
export function safeAddress(address: string): string | undefined {
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(address)) return undefined;
  try {
    const url = new URL(address);
    // `https://bank.example@elsewhere` leads elsewhere.
    return url.username === "" && url.password === "" ? url.href : undefined;
  } catch {
    return undefined;
  }
}

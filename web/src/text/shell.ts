/*
 * Tells the parts of a shell command apart, so that they can be coloured. It only ever looks: put together again, the
 * parts are the command to the letter, whatever it holds.
 *
 * It knows no shell as well as the shell does. What it is not sure of is an ordinary word.
 */

export type TokenKind = "space" | "command" | "keyword" | "word" | "flag" | "string" | "variable" | "operator" | "redirect" | "comment";

export interface Token {
  kind: TokenKind;
  text: string;
}

const KEYWORDS: ReadonlySet<string> = new Set(
  "if then elif else fi for while until do done case esac in select function time ! { } [[ ]]".split(" "),
);
/** After these no command follows, but a name or a list. */
const NAMING: ReadonlySet<string> = new Set(["for", "case", "in", "select", "function", "fi", "done", "esac", "}", "]]", "[["]);
/** Programs whose argument is a program. */
const WRAPPERS: ReadonlySet<string> = new Set(["sudo", "doas", "env", "nohup", "exec", "command", "builtin", "xargs", "time", "nice", "eval"]);
/** Substitutions within substitutions that are followed; deeper ones are ordinary text. */
const DEEPEST = 40;
/** Here-documents on one line that are looked for. */
const MOST_DOCUMENTS = 16;

const SPACE = /[ \t\r\n]+/y;
const OPERATOR = /&&|\|\||\|&|;;&?|;&|[;|&()]/y;
const REDIRECT = /(?:\d*|&)(?:<<<|<<-?|<>|<&|>>|>&|>\||[<>])/y;
const VARIABLE = /\$(?:[A-Za-z_]\w*|[0-9@*#?$!_-])/y;
const PLAIN = /[^ \t\r\n;|&()<>"'`$\\#]+|#/y;
/** One stretch at a time: a pattern that takes them all could exhaust the stack. */
const QUOTED = /[^"\\$`]+|\\[^]/y;
const COMMENT = /[^\n]+/y;
const BLANK = /[ \t]+/y;
const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/;

/** The parts of a command, in order. */
export function tokens(command: string): Token[] {
  const lexer = new Lexer(command);
  lexer.run(0, undefined);
  return lexer.found;
}

/** The programs that a command names, each once, in order, as far as they can be read off it. */
export function programs(parts: readonly Token[]): string[] {
  return [...new Set(parts.filter((part) => part.kind === "command").map((part) => part.text))];
}

class Lexer {
  readonly found: Token[] = [];
  readonly #text: string;
  #at = 0;
  /** The ends of here-documents that begin after this line. */
  #pending: string[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  /** Reads on until `end` closes what was opened, or to the very end. */
  run(depth: number, end: ")" | "`" | undefined): void {
    let wantsCommand = true;
    while (this.#at < this.#text.length) {
      const next = this.#text[this.#at];
      if (next === end) return;
      const space = this.#match(SPACE);
      if (space !== undefined) {
        const line = this.#pending.length === 0 ? -1 : space.indexOf("\n");
        const blank = line < 0 ? space : space.slice(0, line + 1);
        this.#push("space", blank);
        if (blank.includes("\n")) {
          wantsCommand = true;
          this.#documents();
        }
        continue;
      }
      if (next === "#" && this.#isAtWord()) {
        this.#push("comment", this.#match(COMMENT) ?? "#");
        continue;
      }
      const redirect = this.#match(REDIRECT);
      if (redirect !== undefined) {
        this.#push("redirect", redirect);
        this.#target(redirect, depth);
        continue;
      }
      const operator = this.#match(OPERATOR);
      if (operator !== undefined) {
        this.#push("operator", operator);
        wantsCommand = operator !== ")";
        continue;
      }
      wantsCommand = this.#word(depth, wantsCommand);
    }
  }

  /** Reads one word and says whether a command may come after it. */
  #word(depth: number, wantsCommand: boolean): boolean {
    const first = this.#match(PLAIN) ?? "";
    const isWhole = first !== "" && this.#isAtEnd(first.length);
    if (isWhole && wantsCommand && KEYWORDS.has(first)) {
      this.#push("keyword", first);
      return !NAMING.has(first);
    }
    if (first !== "") {
      const isAssignment = wantsCommand && ASSIGNMENT.test(first);
      const isFlag = /^[-+]./.test(first);
      const kind = isAssignment ? "variable" : isFlag ? "flag" : wantsCommand ? "command" : "word";
      this.#push(kind, first);
      this.#rest(depth, kind === "command" ? "command" : "word");
      if (isAssignment || (isFlag && wantsCommand)) return wantsCommand;
      return wantsCommand && isWhole && WRAPPERS.has(first);
    }
    this.#rest(depth, wantsCommand ? "command" : "word");
    return false;
  }

  /** The pieces of a word until it ends. */
  #rest(depth: number, kind: TokenKind): void {
    while (!this.#isAtEnd()) {
      const plain = this.#match(PLAIN);
      if (plain !== undefined) this.#push(kind, plain);
      else this.#piece(depth, kind);
    }
  }

  #piece(depth: number, kind: TokenKind): void {
    const rest = this.#text.slice(this.#at, this.#at + 3);
    if (rest.startsWith("\\")) this.#push(kind, this.#text.slice(this.#at, this.#at + 2));
    else if (rest.startsWith("'")) this.#push("string", this.#upTo("'", 1));
    else if (rest.startsWith("$'")) this.#push("string", this.#upTo("'", 2, true));
    else if (rest.startsWith('"')) this.#quoted(depth);
    else if (rest.startsWith("`") || rest.startsWith("$")) this.#expansion(depth, kind);
    else this.#push(kind, rest.slice(0, 1));
  }

  /** `$name`, `${…}`, `$(…)` or a command in backticks. */
  #expansion(depth: number, kind: TokenKind): void {
    const rest = this.#text.slice(this.#at, this.#at + 3);
    const opened = rest.startsWith("$(") ? "$(" : rest.startsWith("`") ? "`" : undefined;
    if (opened !== undefined && depth < DEEPEST) {
      this.#push("operator", opened);
      const end = opened === "`" ? "`" : ")";
      this.run(depth + 1, end);
      if (this.#text[this.#at] === end) this.#push("operator", end);
      return;
    }
    if (rest.startsWith("${")) return this.#push("variable", this.#upTo("}", 2));
    const variable = this.#match(VARIABLE);
    if (variable !== undefined) this.#push("variable", variable);
    else this.#push(kind, rest.slice(0, 1));
  }

  /** A text in double quotes, in which variables and commands are put in place. */
  #quoted(depth: number): void {
    this.#push("string", '"');
    while (this.#at < this.#text.length) {
      const plain = this.#match(QUOTED);
      if (plain !== undefined) this.#push("string", plain);
      else if (this.#text[this.#at] === '"') return this.#push("string", '"');
      else this.#expansion(depth, "string");
    }
  }

  /** What a redirection leads to; the end of a here-document is remembered. */
  #target(redirect: string, depth: number): void {
    this.#push("space", this.#match(BLANK) ?? "");
    const from = this.#at;
    this.#rest(depth, "word");
    if (!/<<-?$/.test(redirect)) return;
    const end = this.#text.slice(from, this.#at).replaceAll(/["'\\]/g, "");
    if (end !== "" && this.#pending.length < MOST_DOCUMENTS) this.#pending.push(end);
  }

  /** The here-documents that begin at this line. */
  #documents(): void {
    for (const end of this.#pending) {
      const rest = this.#text.slice(this.#at);
      const lines = rest.split("\n");
      const last = lines.findIndex((line) => line.replace(/^\t+/, "") === end);
      const body = last < 0 ? rest : lines.slice(0, last + 1).join("\n");
      if (body !== "") this.#push("string", body);
    }
    this.#pending = [];
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text)?.[0] || undefined;
  }

  /** The text from here to the next `end`, with it; `skip` letters before it do not count. */
  #upTo(end: string, skip: number, isEscaped = false): string {
    let at = this.#at + skip;
    while (at < this.#text.length && this.#text[at] !== end) at += isEscaped && this.#text[at] === "\\" ? 2 : 1;
    return this.#text.slice(this.#at, at + 1);
  }

  /** Whether a word ends here, or so many letters on. */
  #isAtEnd(on = 0): boolean {
    const next = this.#text[this.#at + on];
    return next === undefined || " \t\r\n;|&()<>".includes(next);
  }

  /** Whether a word would begin here. */
  #isAtWord(): boolean {
    const before = this.#text[this.#at - 1];
    return before === undefined || " \t\r\n;|&()".includes(before);
  }

  #push(kind: TokenKind, text: string): void {
    if (text === "") return;
    this.#at += text.length;
    const last = this.found.at(-1);
    if (last !== undefined && last.kind === kind && kind !== "operator" && kind !== "redirect") last.text += text;
    else this.found.push({ kind, text });
  }
}

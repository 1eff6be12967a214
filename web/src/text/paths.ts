/* Where paths lead, as far as their text says: links may lead elsewhere still. */
import type { Token } from "./shell.ts";

/** Not places: what is written there is gone, or on the screen. */
const NOWHERE: ReadonlySet<string> = new Set(["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"]);

/** Whether `path`, seen from `directory`, leads out of `root`. */
export function isOutside(path: string, directory: string, root: string): boolean {
  if (NOWHERE.has(path)) return false;
  if (/^(?:~|\$\{?HOME\b)/.test(path)) return true;
  const from = path.startsWith("/") ? "" : directory;
  const place = normal(`${from}/${path}`);
  const inside = normal(root);
  return inside !== "/" && place !== inside && !place.startsWith(`${inside}/`);
}

/** The words of a command that lead out of `root`, each once. Programs are not meant: they lie where they lie. */
export function pathsOutside(parts: readonly Token[], directory: string, root: string): string[] {
  const words = wordsOf(parts).filter((word) => looksLikePath(word) && isOutside(word, directory, root));
  return [...new Set(words)];
}

function looksLikePath(word: string): boolean {
  return /^(?:\/[^/]|\/$|~(?:\/|$)|\$\{?HOME\}?(?:\/|$)|\.\.(?:\/|$))/.test(word) || word.includes("/../");
}

/** The arguments of a command without their quotes. */
function wordsOf(parts: readonly Token[]): string[] {
  const words: string[] = [];
  let word = "";
  let isProgram = false;
  const end = () => {
    if (word !== "" && !isProgram) words.push(word.replaceAll(/["']/g, "").replace(/^--?[\w-]+=/, ""));
    word = "";
    isProgram = false;
  };
  for (const part of parts) {
    if (part.kind === "space" || part.kind === "operator" || part.kind === "redirect" || part.kind === "comment") end();
    else {
      if (word === "") isProgram = part.kind === "command";
      word += part.text;
    }
  }
  end();
  return words;
}

/** The path without `.`, `..` and doubled slashes. */
function normal(path: string): string {
  const kept: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") kept.pop();
    else if (part !== "" && part !== ".") kept.push(part);
  }
  return `/${kept.join("/")}`;
}

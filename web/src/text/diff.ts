/*
 * Reads unified diffs for showing them. Nothing is dropped: a line that is no part of a hunk is kept as it
 * is, so a patch that cannot be understood is still shown whole.
 */

export type DiffLine =
  | { kind: "context"; text: string; before: number; after: number }
  | { kind: "removed"; text: string; before: number }
  | { kind: "added"; text: string; after: number }
  /** The head of a hunk. */
  | { kind: "hunk"; text: string }
  /** File names, and whatever else stands between the hunks. */
  | { kind: "note"; text: string };

export interface Diff {
  lines: DiffLine[];
  added: number;
  removed: number;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

export function parseDiff(patch: string): Diff {
  const diff: Diff = { lines: [], added: 0, removed: 0 };
  let before = 0;
  let after = 0;
  // A hunk is as long as its head says: a removed line `-- x` looks like a file name and is none.
  let beforeLeft = 0;
  let afterLeft = 0;
  for (const line of splitLines(patch)) {
    const head = HUNK.exec(line);
    if (head !== null && beforeLeft <= 0 && afterLeft <= 0) {
      before = Number(head[1]);
      after = Number(head[3]);
      beforeLeft = Number(head[2] ?? 1);
      afterLeft = Number(head[4] ?? 1);
      diff.lines.push({ kind: "hunk", text: line });
    } else if (line.startsWith("-") && beforeLeft > 0) {
      diff.lines.push({ kind: "removed", text: line.slice(1), before });
      diff.removed += 1;
      before += 1;
      beforeLeft -= 1;
    } else if (line.startsWith("+") && afterLeft > 0) {
      diff.lines.push({ kind: "added", text: line.slice(1), after });
      diff.added += 1;
      after += 1;
      afterLeft -= 1;
    } else if ((line.startsWith(" ") || line === "") && beforeLeft > 0 && afterLeft > 0) {
      diff.lines.push({ kind: "context", text: line.slice(1), before, after });
      before += 1;
      after += 1;
      beforeLeft -= 1;
      afterLeft -= 1;
    } else {
      diff.lines.push({ kind: "note", text: line });
    }
  }
  return diff;
}

/** Whether a line only repeats the name of the one file that the diff is about, which is shown beside it anyway. */
export function repeatsPath(line: DiffLine, path: string): boolean {
  if (line.kind !== "note") return false;
  const named = /^(?:Index: |--- (?:a\/)?|\+\+\+ (?:b\/)?)(.*)$/.exec(line.text)?.[1];
  return /^={10,}$/.test(line.text) || (named !== undefined && named.replace(/\t.*$/, "") === path);
}

/** The patch's lines; the line feed at its end begins no new one. */
function splitLines(patch: string): string[] {
  if (patch === "") return [];
  const lines = patch.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Lines that are shown, or unchanged ones that are folded away until somebody wants to see them. */
export type Stretch = { kind: "shown"; lines: DiffLine[] } | { kind: "folded"; lines: DiffLine[] };

/** How many unchanged lines stay beside a change, and how many there have to be more for folding to be worth it. */
const BESIDE = 3;
const WORTH = 4;

/** The lines in stretches: what is unchanged and far from every change is folded. */
export function folded(lines: readonly DiffLine[]): Stretch[] {
  const stretches: Stretch[] = [];
  const show = (more: readonly DiffLine[]) => {
    const last = stretches.at(-1);
    if (last?.kind === "shown") last.lines.push(...more);
    else if (more.length > 0) stretches.push({ kind: "shown", lines: [...more] });
  };
  let at = 0;
  while (at < lines.length) {
    let end = at;
    while (end < lines.length && lines[end]?.kind === "context") end += 1;
    const run = lines.slice(at, end);
    // Above the first change and below the last one there is only one side to stay beside.
    const head = at === 0 || lines[at - 1]?.kind === "hunk" ? 0 : BESIDE;
    const tail = end === lines.length || lines[end]?.kind === "hunk" ? 0 : BESIDE;
    const middle = run.slice(head, run.length - tail);
    if (middle.length >= WORTH) {
      show(run.slice(0, head));
      stretches.push({ kind: "folded", lines: middle });
      show(run.slice(run.length - tail));
    } else show(run);
    const rest = lines[end];
    if (rest !== undefined) show([rest]);
    at = end + 1;
  }
  return stretches;
}

/** A row of two sides; `whole` is what belongs to neither. */
export type Sides = { whole: DiffLine } | { before: DiffLine | undefined; after: DiffLine | undefined };

/** The lines in two columns: what was removed beside what was added in its place. */
export function sideBySide(lines: readonly DiffLine[]): Sides[] {
  const rows: Sides[] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const settle = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) rows.push({ before: removed[at], after: added[at] });
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === "removed") {
      // A removal after an addition begins another change.
      if (added.length > 0) settle();
      removed.push(line);
    } else if (line.kind === "added") added.push(line);
    else {
      settle();
      rows.push(line.kind === "context" ? { before: line, after: line } : { whole: line });
    }
  }
  settle();
  return rows;
}

/** What is the same at both ends of two lines, and the middles that are not. */
export interface Change {
  head: string;
  before: string;
  after: string;
  tail: string;
}

/** In longer lines nobody looks for a difference letter by letter. */
const LONGEST = 2_000;

/** Where two lines differ; nothing if they have too little in common for that to help. */
export function changeWithin(before: string, after: string): Change | undefined {
  if (Math.max(before.length, after.length) > LONGEST) return undefined;
  const a = [...before];
  const b = [...after];
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head += 1;
  // A word is another word as a whole: `beans` and `broad beans` do not share a `b`.
  while (head > 0 && [a, b].some((line) => isWithinWord(line, head - 1, head))) head -= 1;
  let tail = 0;
  while (tail < shorter - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const cuts = () => [a, b].some((line) => isWithinWord(line, line.length - tail - 1, line.length - tail));
  while (tail > 0 && cuts()) tail -= 1;
  const shared = a.slice(0, head).join("").trim().length + a.slice(a.length - tail).join("").trim().length;
  if (shared < 3 || shared * 3 < shorter) return undefined;
  return {
    head: a.slice(0, head).join(""),
    before: a.slice(head, a.length - tail).join(""),
    after: b.slice(head, b.length - tail).join(""),
    tail: tail === 0 ? "" : a.slice(a.length - tail).join(""),
  };
}

/** Whether the letters at two places belong to one word. */
function isWithinWord(line: readonly string[], before: number, after: number): boolean {
  return [line[before], line[after]].every((letter) => letter !== undefined && /[\p{Letter}\p{Number}_]/u.test(letter));
}

/** For each changed line, its counterpart's text: the first removed line beside the first added one, and so on. */
export function counterparts(lines: readonly DiffLine[]): Map<DiffLine, string> {
  const found = new Map<DiffLine, string>();
  for (const row of sideBySide(lines)) {
    if ("whole" in row || row.before === undefined || row.after === undefined || row.before === row.after) continue;
    found.set(row.before, row.after.text);
    found.set(row.after, row.before.text);
  }
  return found;
}

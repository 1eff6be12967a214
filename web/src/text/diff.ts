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

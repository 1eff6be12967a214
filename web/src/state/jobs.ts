/* Jobs as the page shows them: in what order, in which column, and what they could do next. Pure: values in, values out. */
import type { JobState, JobView } from "../api/types.ts";

export const COLUMNS = ["queued", "working", "waiting", "ended"] as const;
export type Column = (typeof COLUMNS)[number];

const COLUMN_OF: Readonly<Record<JobState, Column>> = {
  queued: "queued",
  starting: "working",
  running: "working",
  waiting: "waiting",
  completed: "ended",
  failed: "ended",
  cancelled: "ended",
};

export function columnOf(job: JobView): Column {
  return COLUMN_OF[job.state];
}

export function isOver(job: JobView): boolean {
  return columnOf(job) === "ended";
}

/** The jobs of a session. */
export function jobsOf(jobs: Readonly<Record<string, JobView>>, session: string): JobView[] {
  return Object.values(jobs).filter((job) => job.session === session);
}

/** Which jobs are looked for. */
export interface JobFilter {
  search: string;
  workspace?: string;
}

export function passes(job: JobView, filter: JobFilter): boolean {
  if (filter.workspace !== undefined && job.workspace !== filter.workspace) return false;
  const text = `${job.title}\n${job.prompt}\n${job.id}\n${job.engine}\n${job.by.name}`.toLowerCase();
  return filter.search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** The newest first. */
export function newestFirst(jobs: Readonly<Record<string, JobView>>): JobView[] {
  return Object.values(jobs).toSorted((a, b) => (a.created_at === b.created_at ? 0 : a.created_at < b.created_at ? 1 : -1));
}

/** The jobs of a column: those that wait for their turn in the order of their queue, the others the newest first. */
export function inColumn(jobs: readonly JobView[], column: Column): JobView[] {
  const found = jobs.filter((job) => columnOf(job) === column);
  return column === "queued" ? found.toSorted(byTurn) : found;
}

function byTurn(a: JobView, b: JobView): number {
  if (a.priority !== b.priority) return b.priority - a.priority;
  return a.created_at < b.created_at ? -1 : Number(a.created_at > b.created_at);
}

const HIGHEST = 100;

/** The priority with which a job goes before the one that is before it in its queue, or after the one behind it; nothing if there is none. */
export function movedTo(jobs: readonly JobView[], job: JobView, way: "up" | "down"): number | undefined {
  const queue = inColumn(jobs, "queued").filter((each) => each.workspace === job.workspace && each.engine === job.engine);
  const at = queue.findIndex((each) => each.id === job.id);
  const other = queue[way === "up" ? at - 1 : at + 1];
  if (at < 0 || other === undefined) return undefined;
  const priority = way === "up" ? Math.max(job.priority, other.priority) + 1 : Math.min(job.priority, other.priority) - 1;
  return Math.abs(priority) > HIGHEST ? undefined : priority;
}

const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz";
const PREFIXES = { task: "task", review: "review", adversarial_review: "adversarial-review" } as const;

/** A new id, made on this side so that a job that is handed in twice is one job. */
export function newJobId(kind: JobView["kind"], now = Date.now(), random = crypto.getRandomValues(new Uint8Array(6))): string {
  const digits = [...random].map((byte) => DIGITS[byte % 36]).join("");
  return `${PREFIXES[kind]}-${now.toString(36)}-${digits}`;
}

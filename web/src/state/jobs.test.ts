import { expect, test } from "vitest";
import { inColumn, movedTo, newJobId, newestFirst, passes } from "./jobs.ts";
import { EMPTY, withJobs } from "./ledger.ts";
import { sampleJob } from "./samples.ts";

const queued = (id: string, priority: number, second: number) =>
  sampleJob({ id, priority, state: "queued", created_at: `2026-11-17T12:00:0${second}.000000Z` });

test("what waits for its turn is in the order of its queue", () => {
  const jobs = [queued("task-a", 0, 1), queued("task-b", 5, 2), queued("task-c", 0, 0)];
  expect(inColumn(jobs, "queued").map((job) => job.id)).toEqual(["task-b", "task-c", "task-a"]);
});

test("a job is moved past the one beside it, and not out of its queue", () => {
  const jobs = [queued("task-a", 0, 1), queued("task-b", 0, 2), queued("task-c", -3, 3), { ...queued("task-x", 9, 0), engine: "other" }];
  const [a, b, c] = jobs as [(typeof jobs)[0], (typeof jobs)[0], (typeof jobs)[0]];
  expect(movedTo(jobs, a, "up")).toBeUndefined();
  expect(movedTo(jobs, b, "up")).toBe(1);
  expect(movedTo(jobs, b, "down")).toBe(-4);
  expect(movedTo(jobs, c, "up")).toBe(1);
  expect(movedTo(jobs, c, "down")).toBeUndefined();
  expect(movedTo([queued("task-a", 100, 0), queued("task-b", 0, 1)], queued("task-b", 0, 1), "up")).toBeUndefined();
});

test("jobs are looked for by every word, in what they are called and told", () => {
  const job = sampleJob({ title: "Water the beds", prompt: "all of them" });
  expect(passes(job, { search: "BEDS them" })).toBe(true);
  expect(passes(job, { search: "beds roses" })).toBe(false);
  expect(passes(job, { search: "", workspace: "ws_other" })).toBe(false);
});

test("a list does not make forget what only the whole job says", () => {
  const whole = sampleJob({ state: "completed", result: "Done.", prompt: "the whole prompt" });
  const { result: _, ...short } = { ...whole, prompt: "the" };
  const known = withJobs(withJobs(EMPTY, [whole]), [short]);
  expect(known.jobs[whole.id]?.result).toBe("Done.");
  expect(known.jobs[whole.id]?.prompt).toBe("the whole prompt");
  const later = withJobs(known, [{ ...short, changed_at: "2026-11-17T13:00:00.000000Z" }]);
  expect(later.jobs[whole.id]?.result).toBeUndefined();
  expect(newestFirst(later.jobs)).toHaveLength(1);
});

test("an id made here has the kind's beginning and nothing that the server would refuse", () => {
  expect(newJobId("adversarial_review")).toMatch(/^adversarial-review-[0-9a-z]+-[0-9a-z]{6}$/);
  expect(newJobId("task")).not.toBe(newJobId("task"));
});

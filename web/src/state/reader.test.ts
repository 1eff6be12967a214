import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError } from "../api/client.ts";
import { Reader } from "./reader.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const reader = () => new Reader(new AbortController().signal);

test("what changes while it is read is read once more, not once for each change", async () => {
  const finish: (() => void)[] = [];
  const read = vi.fn<() => Promise<void>>(() => new Promise((resolve) => void finish.push(resolve)));
  const it = reader();
  it.want("ask_1", read);
  it.want("ask_1", read);
  it.want("ask_1", read);
  expect(read).toHaveBeenCalledTimes(1);
  finish.shift()?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(read).toHaveBeenCalledTimes(2);
  finish.shift()?.();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(read).toHaveBeenCalledTimes(2);
});

test("a reading that fails for a while is tried until it works", async () => {
  const read = vi.fn<() => Promise<void>>().mockRejectedValueOnce(new ApiError(0, "unreachable", "no server"));
  read.mockRejectedValueOnce(new ApiError(503, "unavailable", "starting")).mockResolvedValue();
  reader().want("ask_1", read);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(read).toHaveBeenCalledTimes(3);
});

test("a reading that is refused is not repeated", async () => {
  const read = vi.fn<() => Promise<void>>().mockRejectedValue(new ApiError(404, "not_found", "no such ask"));
  reader().want("ask_1", read);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(read).toHaveBeenCalledTimes(1);
});

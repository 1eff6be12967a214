import { expect, test } from "vitest";
import { ago, duration } from "./duration.ts";

test("a length of time is said in the units that matter", () => {
  expect(duration(-5000)).toBe("0 s");
  expect(duration(8_400)).toBe("8 s");
  expect(duration(185_000)).toBe("3 min 05 s");
  expect(duration(45 * 60_000)).toBe("45 min");
  expect(duration(65 * 60_000)).toBe("1 h 05 min");
  expect(duration(51 * 3_600_000)).toBe("2 d 3 h");
});

test("what was long ago is said in one unit", () => {
  expect(ago(-1)).toBe("just now");
  expect(ago(59_000)).toBe("just now");
  expect(ago(200_000)).toBe("3 min ago");
  expect(ago(7_200_000)).toBe("2 h ago");
  expect(ago(3 * 86_400_000)).toBe("3 d ago");
});

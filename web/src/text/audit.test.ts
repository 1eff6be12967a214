import { expect, test } from "vitest";
import { deedOf, doerOf, placeOfSubject } from "./audit.ts";

test("who did it is named as people know them", () => {
  expect(doerOf("person Ada (actor_01jc)")).toEqual({ kind: "person", name: "Ada" });
  expect(doerOf("person Ada (the second) (actor_01jc)")).toEqual({ kind: "person", name: "Ada (the second)" });
  expect(doerOf("countersign")).toEqual({ name: "Countersign" });
  expect(doerOf("agent in session_1 (run_2)")).toEqual({ kind: "agent", name: "An agent" });
  expect(doerOf("somebody else")).toEqual({ name: "somebody else" });
});

test("deeds without words of ours stand as they are recorded", () => {
  expect(deedOf("ask.answer")).toBe("answered an ask");
  expect(deedOf("plugins.add")).toBe("plugins.add");
});

test("asks and sessions can be gone to", () => {
  expect(placeOfSubject("ask_01jc")).toBe("#/history/ask_01jc");
  expect(placeOfSubject("session_01jc")).toBe("#/sessions/session_01jc");
  expect(placeOfSubject("javascript:alert(1)")).toBeUndefined();
});

import { expect, test } from "vitest";
import { actionOf, type Press } from "./keys.ts";

const press = (key: string, change: Partial<Press> = {}): Press => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  repeat: false,
  ...change,
});

test("each key has its action", () => {
  const actions = ["j", "k", "Enter", "a", "A", "d", "Escape", "?", "/", "x", "u", "y"].map((key) => actionOf(press(key), "page"));
  expect(actions).toEqual(["next", "previous", "open", "allow", "always", "deny", "back", "help", "search", "select", "undo", undefined]);
});

test("a digit chooses, unless it is held down or typed into a field", () => {
  expect(["0", "1", "9", "10"].map((key) => actionOf(press(key), "page"))).toEqual([undefined, "choose", "choose", undefined]);
  expect(actionOf(press("2"), "control")).toBe("choose");
  expect(actionOf(press("2", { repeat: true }), "page")).toBeUndefined();
  expect(actionOf(press("2"), "field")).toBeUndefined();
  expect(actionOf(press("2"), "page", false)).toBeUndefined();
});

test("no key acts while somebody types or holds another modifier", () => {
  for (const key of ["j", "a", "d", "Escape", "?"]) {
    expect(actionOf(press(key), "field")).toBeUndefined();
    expect(actionOf(press(key, { ctrlKey: true }), "page")).toBeUndefined();
    expect(actionOf(press(key, { metaKey: true }), "page")).toBeUndefined();
  }
});

test("a key that is held down moves on but answers nothing", () => {
  expect(actionOf(press("j", { repeat: true }), "page")).toBe("next");
  expect(actionOf(press("a", { repeat: true }), "page")).toBeUndefined();
  expect(actionOf(press("d", { repeat: true }), "page")).toBeUndefined();
});

test("Enter on a button is the button's", () => {
  expect(actionOf(press("Enter"), "control")).toBeUndefined();
  expect(actionOf(press("a"), "control")).toBe("allow");
});

test("who wants no single letters has Enter and Escape alone", () => {
  const actions = ["a", "d", "j", "/", "?", "x", "Enter", "Escape"].map((key) => actionOf(press(key), "page", false));
  expect(actions).toEqual([undefined, undefined, undefined, undefined, undefined, undefined, "open", "back"]);
});

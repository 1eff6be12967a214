/* The keyboard: which key does what, and who on the page does it just now. */
import { onCleanup } from "solid-js";
import { preferences } from "./preferences.ts";

export type Action = "next" | "previous" | "open" | "allow" | "always" | "deny" | "back" | "help" | "search" | "select" | "undo" | "choose";

export interface Press {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  repeat: boolean;
}

/** Where the key was pressed. */
export type Target = "field" | "control" | "page";

/** The action of a key, if it has one there: none while somebody types, none with another modifier, and none of a single
    letter for who wants none. */
export function actionOf(press: Press, target: Target, letters = true): Action | undefined {
  if (target === "field" || press.ctrlKey || press.metaKey || press.altKey) return undefined;
  if (!letters && press.key.length === 1) return undefined;
  switch (press.key) {
    case "j":
      return "next";
    case "k":
      return "previous";
    case "Enter":
      // A button or a link does what it says.
      return target === "control" ? undefined : "open";
    case "Escape":
      return "back";
    case "?":
      return "help";
    case "/":
      return "search";
  }
  // A key that is held down answers one ask and not the next as well.
  if (press.repeat) return undefined;
  if (/^[1-9]$/.test(press.key)) return "choose";
  if (press.key === "a") return "allow";
  if (press.key === "A") return "always";
  if (press.key === "x") return "select";
  if (press.key === "u") return "undo";
  return press.key === "d" ? "deny" : undefined;
}

/** What is done for each action; whoever chooses by number is told the key. */
type Handlers = Partial<Record<Action, (key: string) => void>>;
const bound: (() => Handlers)[] = [];

/** Lets the part of the page that calls this take keys for as long as it is there; the newest goes first. */
export function bindKeys(handlers: () => Handlers): void {
  bound.push(handlers);
  onCleanup(() => void bound.splice(bound.indexOf(handlers), 1));
}

/** Listens for keys from now on. */
export function listenForKeys(): void {
  addEventListener("keydown", (event) => {
    // An open dialog has its own keys, and the first Escape is for what is open above the page.
    if (event.defaultPrevented || document.querySelector("dialog[open]") !== null) return;
    if (event.key === "Escape" && document.querySelector(":popover-open") !== null) return;
    const action = actionOf(event, targetOf(event.target), preferences().keys === "on");
    if (action === undefined) return;
    const handler = bound.map((handlers) => handlers()[action]).findLast((found) => found !== undefined);
    if (handler === undefined) return;
    event.preventDefault();
    handler(event.key);
  });
}

function targetOf(target: EventTarget | null): Target {
  if (!(target instanceof Element)) return "page";
  if (target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]") !== null) return "field";
  return target.closest("a, button, summary, input") === null ? "page" : "control";
}

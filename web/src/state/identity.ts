/* Who this browser is to the server: unknown, paired, or not to be found out just now. */
import { createSignal } from "solid-js";
import * as api from "../api/client.ts";
import type { Grant, Me } from "../api/types.ts";
import { takePairingCode } from "../router.ts";
import { words } from "../text/words.ts";
import { forgetPushing, learnPushing } from "./pushing.ts";
import { startLive } from "./live.ts";

export type Identity =
  | { kind: "unknown" }
  | { kind: "pairing" }
  | { kind: "unpaired"; problem?: string }
  | { kind: "unreachable"; problem: string }
  | { kind: "paired"; me: Me };

const [identity, setIdentity] = createSignal<Identity>({ kind: "unknown" });
let stopLive: (() => void) | undefined;

export { identity };

/** Who is here; for everything that is only shown to somebody who is paired. */
export function me(): Me {
  const known = identity();
  if (known.kind !== "paired") throw new Error("nobody is paired");
  return known.me;
}

export function holds(grant: Grant): boolean {
  return me().grants.includes(grant);
}

/** Finds out who is here; a pairing link is used up by it. */
export async function identify(): Promise<void> {
  const code = takePairingCode();
  if (code !== undefined) return pairWith(code);
  try {
    enter(await api.readMe());
  } catch (error) {
    if (error instanceof api.ApiError && error.status === 401) setIdentity({ kind: "unpaired" });
    else setIdentity({ kind: "unreachable", problem: api.sentenceOf(error) });
  }
}

/** Pairs this browser with a one-time code. */
export async function pairWith(code: string): Promise<void> {
  setIdentity({ kind: "pairing" });
  try {
    enter(await api.pair(code));
  } catch (error) {
    leave(api.sentenceOf(error));
  }
}

export async function signOut(): Promise<void> {
  await api.signOut();
  await forgetPushing();
  leave(words.gate.signedOut);
}

function enter(who: Me): void {
  stopLive?.();
  setIdentity({ kind: "paired", me: who });
  stopLive = startLive(leave);
  // What the browser changed of its subscription is told to the server; whether that works is no matter of the page's.
  void learnPushing().catch(() => undefined);
}

function leave(problem: string): void {
  // The page goes before what it shows is forgotten.
  setIdentity({ kind: "unpaired", problem });
  stopLive?.();
  stopLive = undefined;
}

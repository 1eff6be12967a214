/* Tokens as people look at them: browsers and programs apart, those that are valid first. Pure. */
import type { Rule, Token } from "../api/types.ts";

/** Whether it still opens, or answers, anything. */
export function isValid(it: Pick<Token | Rule, "expires_at" | "revoked_at">, now: number): boolean {
  return it.revoked_at === undefined && (it.expires_at === undefined || Date.parse(it.expires_at) > now);
}

/** When somebody was there last. */
function lastThere(token: Token): string {
  return token.seen_at ?? token.made_at;
}

export interface Sorted<T> {
  valid: T[];
  past: T[];
}

/** Those of a kind: the ones that are valid, whoever was there last first, and the others. */
export function tokensOf(tokens: readonly Token[], kind: Token["kind"], now: number): Sorted<Token> {
  const those = tokens.filter((token) => token.kind === kind).toSorted((a, b) => (lastThere(a) < lastThere(b) ? 1 : -1));
  return apart(those, now);
}

export function apart<T extends Pick<Token | Rule, "expires_at" | "revoked_at">>(all: readonly T[], now: number): Sorted<T> {
  return { valid: all.filter((it) => isValid(it, now)), past: all.filter((it) => !isValid(it, now)) };
}

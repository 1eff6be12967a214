/* What is sent for what a person pressed: exactly the fields that go with the answer. */
import type { AnswerRequest, Question, Scope } from "../api/types.ts";

export const allowOnce = (): AnswerRequest => ({ answer: "allow_once" });

/** How long an "always" may last. */
export const LIVES = [
  { name: "1 hour", seconds: 3_600 },
  { name: "1 day", seconds: 86_400 },
  { name: "30 days", seconds: 30 * 86_400 },
  { name: "no end", seconds: undefined },
] as const;

export function allowAlways(scope: Scope, seconds: number | undefined): AnswerRequest {
  return { answer: "allow_always", scope, ...(seconds === undefined ? {} : { expires_in_s: seconds }) };
}

export function deny(reason: string): AnswerRequest {
  const said = reason.trim();
  return { answer: "deny", ...(said === "" ? {} : { reason: said }) };
}

/** What was filled in for one part of a question. */
export interface Filled {
  chosen: readonly string[];
  text: string;
}

/** The answers to a question's parts, or the numbers (from one) of the parts that have none yet. */
export function choices(
  questions: readonly Question[],
  filled: readonly Filled[],
): { request: AnswerRequest } | { missing: number[] } {
  const parts = questions.map((question, index) => partOf(question, filled[index] ?? { chosen: [], text: "" }));
  const missing = parts.flatMap((part, index) => (part.length === 0 ? [index + 1] : []));
  return missing.length > 0 ? { missing } : { request: { answer: "choices", choices: parts } };
}

/** Own words go before the one choice, and beside several. */
function partOf(question: Question, filled: Filled): string[] {
  const own = filled.text.trim();
  const chosen = question.options.map((option) => option.label).filter((label) => filled.chosen.includes(label));
  if (question.multiple) return own === "" ? chosen : [...chosen, own];
  return own === "" ? chosen.slice(0, 1) : [own];
}

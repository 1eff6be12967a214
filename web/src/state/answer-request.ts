/* What is sent for what a person pressed: exactly the fields that go with the answer. */
import type { AnswerRequest, AskView, OfferedOption, PermissionSubject, Question, Scope } from "../api/types.ts";

export const allowOnce = (): AnswerRequest => ({ answer: "allow_once" });

/** One of the agent's own options, told to it as it is. */
export const pick = (option: OfferedOption, reason: string): AnswerRequest => {
  const said = reason.trim();
  return { answer: "option", option: option.id, ...(said === "" || !isRefusal(option) ? {} : { reason: said }) };
};

const isRefusal = (option: OfferedOption): boolean => option.kind === "deny" || option.kind === "deny_always";

/** Whether the agent names its own options; opencode's are always the same three, which the plain buttons stand for. */
const namesOptions = (ask: AskView): boolean => ask.door === "acp" || ask.door === "acp_proxy";

/** The one option of a kind that the agent offers, which the plain button for that kind stands for. */
export function onlyOption(ask: AskView, kind: OfferedOption["kind"]): OfferedOption | undefined {
  if (!namesOptions(ask)) return undefined;
  const alike = ask.options.filter((option) => option.kind === kind);
  return alike.length === 1 ? alike[0] : undefined;
}

/** Whether a plain yes can be said: an agent may offer none, or several that a person has to tell apart. */
export const canAllow = (ask: AskView): boolean => !namesOptions(ask) || onlyOption(ask, "allow_once") !== undefined;

/** Whether a plain no can be said: of several refusals one has to be picked. */
export const canDeny = (ask: AskView): boolean =>
  !namesOptions(ask) || ask.options.filter((option) => option.kind === "deny").length <= 1;

/** The agent's options that the plain buttons do not stand for: those that it remembers, and any of several alike. */
export function ownOptions(ask: AskView): OfferedOption[] {
  if (!namesOptions(ask)) return [];
  const stood = new Set([onlyOption(ask, "allow_once"), onlyOption(ask, "deny")]);
  return ask.options.filter((option) => !stood.has(option));
}

/** The colour of an option's button, by what choosing it means. */
export function tone(option: OfferedOption): "primary" | "danger" | "lasting" | "" {
  if (isRefusal(option)) return "danger";
  if (option.kind === "allow_always") return "lasting";
  return option.kind === "allow_once" ? "primary" : "";
}

/** How long an "always" may last. */
export const LIVES = [
  { name: "hour", seconds: 3_600 },
  { name: "day", seconds: 86_400 },
  { name: "month", seconds: 30 * 86_400 },
  { name: "endless", seconds: undefined },
] as const;

/** What a rule matches: exactly what is asked, or everything like a pattern. */
export type Reach = { like: string } | "exactly";

export function allowAlways(scope: Scope, reach: Reach, seconds: number | undefined): AnswerRequest {
  return {
    answer: "allow_always",
    scope,
    ...(reach === "exactly" ? {} : { pattern: reach.like }),
    ...(seconds === undefined ? {} : { expires_in_s: seconds }),
  };
}

/** Tools whose target is a program for a shell; the server takes no pattern for them. */
const SHELL_TOOLS: ReadonlySet<string> = new Set(["bash", "shell", "execute", "terminal"]);

export function isShell(tool: string): boolean {
  return SHELL_TOOLS.has(tool);
}

/** Whether a pattern could say what else is meant: never of a command. */
export function takesPattern(subject: PermissionSubject): boolean {
  return !isShell(subject.tool) && subject.shown.every((part) => part.kind !== "command");
}

/** Whether a rule can be made of what is asked: something identifies it, and it is known where it acts. */
export function takesRule(subject: PermissionSubject): boolean {
  const isKnown =
    subject.location?.folder?.kind !== "unknown" && (subject.location?.files ?? []).every((named) => named.file.kind !== "unknown");
  return subject.targets.length > 0 && isKnown;
}

/** The folder that an exact rule names: none for the folder of the session. */
export function folderOf(subject: PermissionSubject): { folder?: string } {
  const folder = subject.location?.folder;
  return folder?.kind === "other" ? { folder: folder.path } : {};
}

/** A pattern to begin with: everything in the folder that all files or targets lie in, or the one itself. */
export function suggestedPattern(subject: Pick<PermissionSubject, "targets" | "location">): string {
  const names = pathsOf(subject);
  const folders = names.map((name) => name.slice(0, name.lastIndexOf("/") + 1));
  const [first = ""] = folders;
  if (first !== "" && folders.every((folder) => folder === first)) return `${escaped(first)}**`;
  return names.length === 1 ? escaped(names[0] ?? "") : "";
}

/** What a pattern is matched against: the files that are meant, as they are below the workspace, else the targets. */
function pathsOf(subject: Pick<PermissionSubject, "targets" | "location">): readonly string[] {
  const files = (subject.location?.files ?? []).flatMap(({ file }) => (file.kind === "unknown" ? [] : [file.path]));
  return files.length > 0 ? files : subject.targets;
}

/** A text as a pattern that matches that text alone. */
function escaped(text: string): string {
  return text.replaceAll(/[*?[\]{}\\!]/g, "\\$&");
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

/** What is filled in for one part when the suggestion `label` is taken, or let go of where several may be chosen. */
export function picked(question: Question, filled: Filled, label: string, on: boolean): Filled {
  const { chosen, text } = filled;
  // One choice and own words exclude each other.
  if (!question.multiple) return { chosen: [label], text: "" };
  return { chosen: on ? [...chosen, label] : chosen.filter((other) => other !== label), text };
}

/** What is filled in when the number of a suggestion is pressed: it is meant for the first part that has no answer, or else
    for the last. Nothing changes where that part has no such number. */
export function numbered(questions: readonly Question[], filled: readonly Filled[], number: number): readonly Filled[] {
  const made = choices(questions, filled);
  const part = "missing" in made ? (made.missing[0] ?? 1) - 1 : questions.length - 1;
  const question = questions[part];
  const label = question?.options[number - 1]?.label;
  if (question === undefined || label === undefined) return filled;
  const before = filled[part] ?? { chosen: [], text: "" };
  return filled.with(part, picked(question, before, label, !before.chosen.includes(label)));
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

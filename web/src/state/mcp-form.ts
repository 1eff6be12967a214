/* An MCP server as a form has it, and as opencode is told of it. What the form does not know stays as it is. */

export type McpKind = "local" | "remote";

export interface McpForm {
  kind: McpKind;
  /** The program and its arguments, one on each line. */
  command: string;
  /** `NAME=value`, one on each line. */
  environment: string;
  url: string;
  /** `Name: value`, one on each line. */
  headers: string;
  enabled: boolean;
}

export const EMPTY_MCP: McpForm = { kind: "local", command: "", environment: "", url: "", headers: "", enabled: true };

/** What each kind has to itself. */
const OWN: Readonly<Record<McpKind, readonly string[]>> = { local: ["command", "environment"], remote: ["url", "headers", "oauth"] };

export function formOf(config: Readonly<Record<string, unknown>>): McpForm {
  const command = config["command"];
  return {
    kind: config["type"] === "remote" ? "remote" : "local",
    command: Array.isArray(command) ? command.map(String).join("\n") : "",
    environment: linesOf(config["environment"], "="),
    url: typeof config["url"] === "string" ? config["url"] : "",
    headers: linesOf(config["headers"], ": "),
    enabled: config["enabled"] !== false,
  };
}

/** The configuration that a form means, or the line that does not fit. */
export function configOf(form: McpForm, before: Readonly<Record<string, unknown>>): { config: Record<string, unknown> } | { badLine: string } {
  const other = OWN[form.kind === "local" ? "remote" : "local"];
  const kept = Object.entries(before).filter(([key]) => !other.includes(key));
  const config: Record<string, unknown> = { ...Object.fromEntries(kept), type: form.kind };
  const pairs = form.kind === "local" ? pairsIn(form.environment, "=") : pairsIn(form.headers, ":");
  if (typeof pairs === "string") return { badLine: pairs };
  if (form.kind === "local") config["command"] = linesIn(form.command);
  else config["url"] = form.url.trim();
  const name = form.kind === "local" ? "environment" : "headers";
  if (Object.keys(pairs).length > 0) config[name] = pairs;
  else delete config[name];
  // What is not said is enabled.
  if (!form.enabled || before["enabled"] !== undefined) config["enabled"] = form.enabled;
  return { config };
}

function linesIn(text: string): string[] {
  return text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
}

function pairsIn(text: string, mark: string): Record<string, string> | string {
  const pairs: [string, string][] = [];
  for (const line of linesIn(text)) {
    const at = line.indexOf(mark);
    if (at < 1) return line;
    pairs.push([line.slice(0, at).trim(), line.slice(at + mark.length).trim()]);
  }
  return Object.fromEntries(pairs);
}

function linesOf(value: unknown, mark: string): string {
  if (typeof value !== "object" || value === null) return "";
  return Object.entries(value).map(([name, text]) => `${name}${mark}${String(text)}`).join("\n");
}

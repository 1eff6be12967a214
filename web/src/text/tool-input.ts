/* One line that recalls what a tool was given; the whole input is shown beside it. */

const TELLING = ["command", "filePath", "pattern", "path", "url", "query", "description", "prompt"];

export function inputLine(input: unknown): string {
  if (typeof input === "string") return firstLine(input);
  if (typeof input !== "object" || input === null) return "";
  const fields = new Map(Object.entries(input));
  const telling = TELLING.map((name) => fields.get(name)).find((value) => typeof value === "string" && value !== "");
  return typeof telling === "string" ? firstLine(telling) : "";
}

function firstLine(text: string): string {
  const [first = "", ...rest] = text.trim().split("\n");
  return rest.length === 0 ? first : `${first} …`;
}

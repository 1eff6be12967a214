/**
 * Where Countersign is, and with which token it is called. The token is read from a file, so that it is in no
 * configuration of opencode's and in no environment.
 */
import { readFile } from "node:fs/promises";

export interface Settings {
  /** The address of the server, without a slash at the end. */
  readonly url: string;
  readonly token: string;
}

/** What is missing, for people. */
export interface Problem {
  readonly problem: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_URL = "http://127.0.0.1:8787";

export async function readSettings(environment: Environment): Promise<Settings | Problem> {
  const file = environment["COUNTERSIGN_TOKEN_FILE"];
  if (!file) {
    return {
      problem:
        "COUNTERSIGN_TOKEN_FILE is not set, so asks are answered in the terminal alone. " +
        "Make a token with `countersign token create --role agent` and name the file that holds it.",
    };
  }
  const given = environment["COUNTERSIGN_URL"] || DEFAULT_URL;
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    return { problem: `COUNTERSIGN_URL is no address: ${given}` };
  }
  try {
    const token = (await readFile(file, "utf8")).trim();
    return token === ""
      ? { problem: `the file ${file} is empty; it has to hold a token of the role agent` }
      : { url: given.replace(/\/+$/, ""), token };
  } catch (error) {
    return { problem: `the token cannot be read: ${String(error)}` };
  }
}

/*
 * What a real opencode needs to work cut off from the world, as the Rust tests start it: a home of its own, a
 * stub for a model, and everything switched off that looks something up.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const VERSION = "1.18.33";

const SWITCHES = [
  "OPENCODE_DISABLE_MODELS_FETCH",
  "OPENCODE_DISABLE_AUTOUPDATE",
  "OPENCODE_DISABLE_LSP_DOWNLOAD",
  "OPENCODE_DISABLE_DEFAULT_PLUGINS",
  "OPENCODE_DISABLE_EMBEDDED_WEB_UI",
  "OPENCODE_DISABLE_CLAUDE_CODE",
  "OPENCODE_DISABLE_EXTERNAL_SKILLS",
  "OPENCODE_ENABLE_QUESTION_TOOL",
];

/** Prepares `home` and returns the variables to start opencode with. */
export function offlineEnvironment(home: string, modelUrl: string): Record<string, string> {
  const directory = join(home, ".config/opencode");
  pretendInstallation(directory);
  writeFileSync(join(directory, "opencode.json"), JSON.stringify(configuration(modelUrl)));
  return {
    HOME: home,
    XDG_CONFIG_HOME: join(home, ".config"),
    XDG_DATA_HOME: join(home, ".local/share"),
    XDG_STATE_HOME: join(home, ".local/state"),
    XDG_CACHE_HOME: join(home, ".cache"),
    ...Object.fromEntries(SWITCHES.map((name) => [name, "1"])),
  };
}

/** Leaves the traces of a finished installation in a folder of opencode's, which keep it from making one. */
export function pretendInstallation(directory: string): void {
  mkdirSync(join(directory, "node_modules"), { recursive: true });
  const lock = { packages: { "": { dependencies: { "@opencode-ai/plugin": VERSION } } } };
  writeFileSync(join(directory, "package-lock.json"), JSON.stringify(lock));
}

function configuration(modelUrl: string): unknown {
  return {
    model: "stub/stub",
    small_model: "stub/stub",
    enabled_providers: ["stub"],
    provider: {
      stub: {
        npm: "@ai-sdk/openai-compatible",
        options: { baseURL: modelUrl, apiKey: "unused" },
        models: {
          stub: { name: "Stub", tool_call: true, limit: { context: 100_000, output: 8_000 }, cost: { input: 1_000, output: 5_000 } },
          larger: { name: "Larger stub", tool_call: true, limit: { context: 200_000, output: 8_000 } },
        },
      },
    },
    command: {
      water: { description: "Water what is named", template: "FINAL Watered $ARGUMENTS." },
      dated: { description: "Says the date", template: "FINAL It is !`date`." },
    },
    autoupdate: false,
    share: "disabled",
    permission: { bash: "ask", edit: "ask", external_directory: "ask", webfetch: "ask" },
  };
}

/* Browser tests run in the system's Chromium; `COUNTERSIGN_CHROMIUM` names another one. */
import { defineConfig } from "@playwright/test";

const runsAsRoot = process.getuid?.() === 0;

export default defineConfig({
  testDir: "e2e",
  outputDir: "../target/e2e",
  // One server with one real agent behind it serves all the tests.
  workers: 1,
  forbidOnly: process.env["CI"] !== undefined,
  // In CI, where nobody can look at once; what passes the second time is listed as flaky, and is a fault to be mended.
  retries: process.env["CI"] === undefined ? 0 : 1,
  reporter: "list",
  timeout: 60_000,
  expect: { timeout: 20_000 },
  use: {
    browserName: "chromium",
    actionTimeout: 20_000,
    trace: "retain-on-failure",
    launchOptions: {
      executablePath: process.env["COUNTERSIGN_CHROMIUM"] ?? "/usr/bin/chromium",
      args: [
        // Chromium refuses its own sandbox to root.
        ...(runsAsRoot ? ["--no-sandbox"] : []),
        "--disable-gpu",
        "--disable-quic",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
      ],
    },
  },
});

/* Browser tests run in the system's Chromium; `COUNTERSIGN_CHROMIUM` names another one. */
import { defineConfig } from "@playwright/test";

const runsAsRoot = process.getuid?.() === 0;

export default defineConfig({
  testDir: "e2e",
  outputDir: "../target/e2e",
  fullyParallel: true,
  workers: 2,
  forbidOnly: process.env["CI"] !== undefined,
  reporter: "list",
  timeout: 30_000,
  use: {
    browserName: "chromium",
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

/* Pictures that are committed: the app's icons (`npm run icons`) and its pages (`npm run screenshots`). */
import { defineConfig } from "@playwright/test";
import tests from "./playwright.config.ts";

export default defineConfig({ ...tests, testDir: "shots", testMatch: "*.shot.ts", retries: 0 });

import { expect, test } from "vitest";
import { apiAddress } from "./base.ts";

test("the API is found beside the app, behind any prefix", () => {
  expect(apiAddress("http://127.0.0.1:8787/app/", "me")).toBe("http://127.0.0.1:8787/api/v1/me");
  expect(apiAddress("https://host/some/prefix/app/#/asks/ask_1", "asks?state=open")).toBe(
    "https://host/some/prefix/api/v1/asks?state=open",
  );
});

test("a folder that happens to be called app does not lead astray", () => {
  expect(apiAddress("https://host/app/team/app/index.html", "me")).toBe("https://host/app/team/api/v1/me");
});

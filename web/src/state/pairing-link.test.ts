import { expect, test } from "vitest";
import { linkForPhone } from "./pairing-link.ts";

const code = "0a1b";

test("the server's own word goes before everything", () => {
  const remote_link = "https://desk.example/agents/app/#pair=0a1b";
  expect(linkForPhone({ code, remote_link }, { href: "http://127.0.0.1:8787/app/#/access" })).toBe(remote_link);
});

test("a page that has a name leads others where it is, prefix and all", () => {
  expect(linkForPhone({ code }, { href: "https://desk.example/agents/app/?x#/access" })).toBe("https://desk.example/agents/app/#pair=0a1b");
});

test("a page of this machine leads nobody else here", () => {
  for (const host of ["localhost:8787", "127.0.0.1:8787", "127.1.2.3", "[::1]:8787", "app.localhost"]) {
    expect({ host, link: linkForPhone({ code }, { href: `http://${host}/app/` }) }).toEqual({ host, link: undefined });
  }
});

/*
 * A second server for what goes on outside of a quiet day: an agent that says whatever it likes, a reverse proxy with TLS and
 * a path prefix before it, and push services on this machine. Workers run here, which other tests do without.
 */
import { resolve } from "node:path";
import { Server } from "./server.ts";
import { test as base } from "./test.ts";
import { TLS_PREFIX, TlsProxy } from "./tls-proxy.ts";

export { expect } from "./test.ts";

/** The agent's name. */
export const ROUGH = "rough";

export interface Rough {
  server: Server;
  tls: TlsProxy;
}

export const test = base.extend<object, { rough: Rough }>({
  rough: [
    // oxlint-disable-next-line no-empty-pattern
    async ({}, use) => {
      const own = await TlsProxy.freePort();
      let port = 0;
      const agent = JSON.stringify(resolve(import.meta.dirname, "rough-agent.mjs"));
      const server = await Server.startWith((served) => {
        port = served;
        return {
          hosts: [`localhost:${own}`],
          server: `behind_proxy = true\npath_prefix = "${TLS_PREFIX}"\n`,
          tables: `[push]\nprivate_endpoints = true\n[[agents]]\nname = "${ROUGH}"\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${agent}]\n`,
        };
      });
      const tls = await TlsProxy.start(own, port);
      try {
        await use({ server, tls });
      } finally {
        await tls.stop();
        await server.stop();
      }
    },
    { scope: "worker", timeout: 120_000 },
  ],
});

/* Which link another device can open. Pure. */
import type { PairingView } from "../api/types.ts";

/** Names by which a machine means itself. */
const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\])$/;

/** The link for a phone: where the server says it is reached, else where this page is, unless that is this machine alone. */
export function linkForPhone(pairing: Pick<PairingView, "code" | "remote_link">, page: { href: string }): string | undefined {
  if (pairing.remote_link !== undefined) return pairing.remote_link;
  const { origin, hostname, pathname } = new URL(page.href);
  return LOOPBACK.test(hostname) ? undefined : `${origin}${pathname}#pair=${pairing.code}`;
}

/* The page's half of the browser's secret. The cookie is the other half: it goes to every port of a host, while what is
   kept here stays with this one. Neither half opens anything alone. */
import { apiAddress } from "./base.ts";

const HEADER = "X-Countersign-Page";

/** Servers behind one name differ by their path. */
function place(): string {
  return `countersign page key ${apiAddress(location.href, "")}`;
}

/** Keeps the half that pairing gave. */
export function keepPageKey(key: string): void {
  localStorage.setItem(place(), key);
}

/** Forgets it, with the sign-out. */
export function forgetPageKey(): void {
  localStorage.removeItem(place());
}

/** The header to send with every request; none before pairing. */
export function pageKeyHeader(): Record<string, string> {
  const key = localStorage.getItem(place());
  return key === null ? {} : { [HEADER]: key };
}

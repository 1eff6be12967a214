/* Where the app and the API are: the server may stand behind any path prefix, and the app is at `<prefix>/app/`. */

/** The address of `path` in the API, seen from a page at `page`. */
export function apiAddress(page: string, path: string): string {
  const url = new URL(page);
  const end = url.pathname.lastIndexOf("/app/");
  const prefix = end < 0 ? "/" : url.pathname.slice(0, end + 1);
  return new URL(`${prefix}api/v1/${path}`, url.origin).href;
}

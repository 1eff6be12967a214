/* Starts the web app in the page's `#app`. */
import "./styles/index.css";
import { render } from "solid-js/web";
import { App } from "./app.tsx";
import { followAddress } from "./router.ts";
import { identify } from "./state/identity.ts";
import { listenForKeys } from "./state/keys.ts";

const root = document.getElementById("app");
if (root === null) throw new Error("index.html has no #app");
void identify();
followAddress();
listenForKeys();
// A pairing link may be opened in a tab that already shows the app.
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#pair=")) void identify();
});
render(() => <App />, root);

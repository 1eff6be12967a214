/* Whether there is room for a list and what is chosen in it side by side; the style sheets use the same width. */
import { createSignal } from "solid-js";

const query = matchMedia("(min-width: 60rem)");
const [isWide, setWide] = createSignal(query.matches);
query.addEventListener("change", () => setWide(query.matches));

export { isWide };

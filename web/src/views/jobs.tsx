/* The jobs, and the one that is chosen. */
import { words } from "../text/words.ts";

export function Jobs() {
  return (
    <main class="panes">
      <h2 class="list-title">{words.jobs.title}</h2>
    </main>
  );
}

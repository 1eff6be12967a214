/* Tells people who do not look at the page of new asks, and what came of answers to many: by voice, and in the tab's title. */
import { createEffect, Show } from "solid-js";
import { report } from "../state/answering.ts";
import { ledger, newestAsk } from "../state/live.ts";
import { openAsks } from "../state/ledger.ts";
import { visible } from "../text/visible.ts";
import { wantOf } from "../text/wants.ts";
import { words } from "../text/words.ts";

export function Announcer() {
  createEffect(() => {
    const count = openAsks(ledger()).length;
    document.title = words.shell.title(count);
  });
  const news = () => {
    const ask = newestAsk();
    return ask === undefined ? "" : words.shell.newAsk(visible(ask.requester), wantOf(ask), visible(ask.summary.slice(0, 200)));
  };
  return (
    <>
      <p class="unseen" aria-live="polite">
        {news()}
      </p>
      <p class="unseen" aria-live="polite">
        <Show when={report()}>{(came) => words.batch.report(came())}</Show>
      </p>
    </>
  );
}

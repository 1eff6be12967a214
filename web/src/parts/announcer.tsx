/* Tells people who do not look at the page of new asks: by voice, and in the tab's title. */
import { createEffect } from "solid-js";
import { ledger, newestAsk } from "../state/live.ts";
import { openAsks } from "../state/ledger.ts";
import { visible } from "../text/visible.ts";
import { wantOf } from "../text/wants.ts";

export function Announcer() {
  createEffect(() => {
    const count = openAsks(ledger()).length;
    document.title = count === 0 ? "Countersign" : `(${count}) Countersign`;
  });
  const words = () => {
    const ask = newestAsk();
    return ask === undefined ? "" : `New ask: ${visible(ask.requester)} ${wantOf(ask)}. ${visible(ask.summary).slice(0, 200)}`;
  };
  return (
    <p class="unseen" aria-live="polite">
      {words()}
    </p>
  );
}

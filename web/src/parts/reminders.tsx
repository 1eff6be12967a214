/* Brings asks to mind that wait for long, or that are about to run out. */
import { createMemo, createSignal, For } from "solid-js";
import { fragmentOf } from "../router.ts";
import { now } from "../state/clock.ts";
import { openAsks } from "../state/ledger.ts";
import { ledger } from "../state/live.ts";
import { preferences } from "../state/preferences.ts";
import { noted, remindersOf, type Reminded, type Reminder } from "../state/reminders.ts";
import { words } from "../text/words.ts";
import { Bell } from "./icons.tsx";

export function Reminders() {
  const [reminded, setReminded] = createSignal<Reminded>(new Map());
  const every = () => preferences().remind;
  const due = createMemo(
    () => remindersOf(openAsks(ledger()).filter((ask) => ask.may_answer), now(), every(), reminded()),
    [],
    // Every second the same is due: what is read out already is not read out again.
    { equals: (a, b) => keyOf(a) === keyOf(b) },
  );
  const take = (reminder: Reminder) => setReminded(noted(reminded(), reminder, now(), every()));
  return (
    <For each={due()}>
      {(reminder) => (
        <div class="reminder" role="alert">
          <Bell />
          <p>{reminder.why === "expiring" ? words.remind.expiring(reminder.asks.length) : words.remind.waiting(reminder.asks.length, every())}</p>
          <a class="button" href={fragmentOf({ page: "ask", ask: reminder.asks[0]?.id ?? "" })} onClick={() => take(reminder)}>
            {words.remind.show}
          </a>
          <button type="button" class="quiet" onClick={() => take(reminder)}>
            {words.remind.later}
          </button>
        </div>
      )}
    </For>
  );
}

const keyOf = (reminders: readonly Reminder[]): string =>
  reminders.map((reminder) => `${reminder.why} ${reminder.asks.map((ask) => ask.id).join(" ")}`).join("; ");

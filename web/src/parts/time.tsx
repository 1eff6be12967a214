/* Points in time, told by how far away they are. */
import { Show } from "solid-js";
import type { AskView } from "../api/types.ts";
import { now, since } from "../state/clock.ts";
import { isUrgent, timeLeft } from "../state/reminders.ts";
import { ago, duration } from "../text/duration.ts";
import { words } from "../text/words.ts";

function full(time: string): string {
  return new Date(time).toLocaleString();
}

/** How long it has been, ticking: `3 min 05 s`. */
export function Waiting(props: { from: string }) {
  return (
    <time dateTime={props.from} title={full(props.from)}>
      {duration(since(props.from))}
    </time>
  );
}

/** How long ago it was: `3 min ago`. */
export function Ago(props: { at: string }) {
  return (
    <time dateTime={props.at} title={full(props.at)}>
      {ago(since(props.at))}
    </time>
  );
}

/** The hour, or the day and the hour when it is another day. */
export function At(props: { at: string }) {
  const text = () => {
    const date = new Date(props.at);
    const isToday = date.toDateString() === new Date().toDateString();
    return isToday ? date.toLocaleTimeString() : date.toLocaleString();
  };
  return (
    <time dateTime={props.at} title={full(props.at)}>
      {text()}
    </time>
  );
}

/** How long is left until an ask runs out, ticking; nothing for one that does not. What comes of it, the ledger says. */
export function Countdown(props: { ask: AskView }) {
  const left = () => (props.ask.state === "open" ? timeLeft(props.ask, now()) : undefined);
  return (
    <Show when={left() !== undefined}>
      <time class="countdown" classList={{ "countdown-urgent": isUrgent(props.ask, now()) }} dateTime={props.ask.expires_at ?? ""} title={full(props.ask.expires_at ?? "")}>
        {left() === 0 ? words.time.expiring : words.time.expires(duration(left() ?? 0))}
      </time>
    </Show>
  );
}

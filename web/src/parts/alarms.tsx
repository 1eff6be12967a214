/* What happened and must not: stays until somebody has taken note of it. */
import { For, Show } from "solid-js";
import type { AlarmView } from "../api/types.ts";
import { fragmentOf } from "../router.ts";
import { dismiss, isDismissed } from "../state/dismissed.ts";
import { ledger } from "../state/live.ts";
import { words } from "../text/words.ts";
import { Alert } from "./icons.tsx";
import { Sentence } from "./sentence.tsx";
import { Ago } from "./time.tsx";

export function Alarms() {
  const standing = () => ledger().alarms.filter((alarm) => !isDismissed(alarm.id));
  return (
    <Show when={standing().length > 0}>
      <section class="alarms" role="alert" aria-label={words.alarms.title}>
        <ul>
          <For each={standing()}>{(alarm) => <Alarm alarm={alarm} />}</For>
        </ul>
      </section>
    </Show>
  );
}

function Alarm(props: { alarm: AlarmView }) {
  return (
    <li>
      <Alert />
      <p>
        <strong>{words.alarms.alarm}</strong> · <Ago at={props.alarm.at} />: <Sentence text={props.alarm.message} />{" "}
        <Show when={props.alarm.ask}>{(ask) => <a href={fragmentOf({ page: "ask", ask: ask() })}>{words.alarms.ask}</a>}</Show>{" "}
        <Show when={props.alarm.session}>
          {(session) => <a href={fragmentOf({ page: "session", session: session() })}>{words.alarms.session}</a>}
        </Show>
      </p>
      <button type="button" class="quiet" onClick={() => dismiss(props.alarm.id)}>
        {words.alarms.dismiss}
      </button>
    </li>
  );
}

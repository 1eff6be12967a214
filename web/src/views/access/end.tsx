/* When a rule or a token ends, or has ended. */
import { Match, Switch } from "solid-js";
import { Ago, At } from "../../parts/time.tsx";
import { now } from "../../state/clock.ts";
import { words } from "../../text/words.ts";

export function End(props: { of: { expires_at?: string; revoked_at?: string } }) {
  const isOver = () => props.of.expires_at !== undefined && Date.parse(props.of.expires_at) <= now();
  return (
    <span>
      <Switch fallback={words.access.endless}>
        <Match when={props.of.revoked_at}>
          {(at) => (
            <>
              {words.access.revoked} <Ago at={at()} />
            </>
          )}
        </Match>
        <Match when={props.of.expires_at}>
          {(at) => (
            <>
              {isOver() ? words.access.ended : words.access.ends} <At at={at()} />
            </>
          )}
        </Match>
      </Switch>
    </span>
  );
}

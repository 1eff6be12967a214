/* The web app: a gate for browsers that are not paired, and the pages behind it. */
import { Match, Switch } from "solid-js";
import { identify, identity } from "./state/identity.ts";
import { Pair, Waiting } from "./views/pair.tsx";
import { Shell } from "./views/shell.tsx";

export function App() {
  const is = <K extends ReturnType<typeof identity>["kind"]>(kind: K) => {
    const known = identity();
    return known.kind === kind ? (known as Extract<typeof known, { kind: K }>) : undefined;
  };
  return (
    <Switch>
      <Match when={is("unknown")}>
        <Waiting sentence="Looking who is here…" />
      </Match>
      <Match when={is("pairing")}>
        <Waiting sentence="Pairing this browser…" />
      </Match>
      <Match when={is("unreachable")}>
        {(state) => <Waiting sentence={state().problem} retry={() => void identify()} />}
      </Match>
      <Match when={is("unpaired")}>{(state) => <Pair problem={state().problem} />}</Match>
      <Match when={is("paired")}>
        <Shell />
      </Match>
    </Switch>
  );
}

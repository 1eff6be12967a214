/* The web app: a gate for browsers that are not paired, and the pages behind it. */
import { Match, Switch } from "solid-js";
import { words } from "./text/words.ts";
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
        <Waiting sentence={words.gate.looking} />
      </Match>
      <Match when={is("pairing")}>
        <Waiting sentence={words.gate.pairing} />
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

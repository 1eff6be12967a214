/* For a browser that the server does not know: how to get in. */
import { createSignal, Show } from "solid-js";
import iconUrl from "../icon.svg";
import { Alert } from "../parts/icons.tsx";
import { Sentence } from "../parts/sentence.tsx";
import { codeIn } from "../router.ts";
import { pairWith } from "../state/identity.ts";
import { words } from "../text/words.ts";

export function Pair(props: { problem?: string | undefined }) {
  const [pasted, setPasted] = createSignal("");
  const code = () => codeIn(pasted());
  return (
    <main class="gate">
      <Brand />
      <h2>{words.gate.unpaired}</h2>
      <Show when={props.problem}>
        {(problem) => (
          <p class="note note-warning" role="alert">
            <Alert />
            <span>
              <Sentence text={problem()} />
            </span>
          </p>
        )}
      </Show>
      <p>{words.gate.how}</p>
      <pre class="code command">{words.gate.command}</pre>
      <p>{words.gate.paste}</p>
      <form
        class="gate-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (code() !== "") void pairWith(code());
        }}
      >
        <label>
          {words.gate.code}
          <input
            type="text"
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            value={pasted()}
            onInput={(event) => setPasted(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary" disabled={code() === ""}>
          {words.gate.pair}
        </button>
      </form>
    </main>
  );
}

/** Nothing can be shown yet, or just now. */
export function Waiting(props: { sentence: string; retry?: () => void }) {
  return (
    <main class="gate">
      <Brand />
      <p aria-live="polite">
        <Sentence text={props.sentence} />
      </p>
      <Show when={props.retry}>
        {(retry) => (
          <button type="button" class="primary" onClick={() => retry()()}>
            {words.gate.again}
          </button>
        )}
      </Show>
    </main>
  );
}

function Brand() {
  return (
    <h1 class="brand">
      <img src={iconUrl} alt="" width="40" height="40" />
      {words.shell.name}
    </h1>
  );
}

/* For a browser that the server does not know: how to get in. */
import { createSignal, Show } from "solid-js";
import iconUrl from "../icon.svg";
import { Alert } from "../parts/icons.tsx";
import { Sentence } from "../parts/sentence.tsx";
import { codeIn } from "../router.ts";
import { pairWith } from "../state/identity.ts";

export function Pair(props: { problem?: string | undefined }) {
  const [pasted, setPasted] = createSignal("");
  const code = () => codeIn(pasted());
  return (
    <main class="gate">
      <Brand />
      <h2>This browser is not paired yet</h2>
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
      <p>Asks are answered only by somebody who may. On the machine where Countersign runs, get a one-time link:</p>
      <pre class="code command">countersign pair</pre>
      <p>Open the link here, or paste it below. It works once, within five minutes.</p>
      <form
        class="gate-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (code() !== "") void pairWith(code());
        }}
      >
        <label>
          Link or code
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
          Pair this browser
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
            Try again
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
      Countersign
    </h1>
  );
}

/* Who is here, what they may do, and the way out. */
import { createSignal, For, Show } from "solid-js";
import { sentenceOf } from "../api/client.ts";
import { Person } from "../parts/icons.tsx";
import { me, signOut } from "../state/identity.ts";
import { ledger } from "../state/live.ts";

export function Account() {
  const [problem, setProblem] = createSignal<string>();
  const leave = async () => {
    try {
      await signOut();
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  const where = () => ledger().workspaces.find((workspace) => workspace.id === me().workspace)?.name ?? me().workspace;
  return (
    <>
      <button type="button" class="quiet account-button" popovertarget="account" aria-label={`Account of ${me().actor.name}`}>
        <Person /> <span class="account-name">{me().actor.name}</span>
      </button>
      <div id="account" popover="auto" class="account">
        <p class="account-who">
          Paired as <strong>{me().actor.name}</strong>
        </p>
        <p class="muted">
          You may:{" "}
          <For each={me().grants} fallback="nothing">
            {(grant) => <code class="grant">{grant}</code>}
          </For>
        </p>
        <Show when={where()}>{(name) => <p class="muted">In the workspace {name()} only.</p>}</Show>
        <Show when={problem()}>{(sentence) => <p role="alert">{sentence()}</p>}</Show>
        <button type="button" onClick={() => void leave()}>
          Sign out
        </button>
      </div>
    </>
  );
}

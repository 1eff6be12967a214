/* Who is here, what they may do, and the way out. */
import { createSignal, For, Show } from "solid-js";
import { sentenceOf } from "../api/client.ts";
import { Gear, Person } from "../parts/icons.tsx";
import { me, signOut } from "../state/identity.ts";
import { ledger } from "../state/live.ts";
import { words } from "../text/words.ts";
import { PreferencesDialog } from "./preferences.tsx";

export function Account() {
  const [problem, setProblem] = createSignal<string>();
  const [isPreferring, setPreferring] = createSignal(false);
  let popover: HTMLDivElement | undefined;
  const openPreferences = () => {
    popover?.hidePopover();
    setPreferring(true);
  };
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
      <button type="button" class="quiet account-button" popovertarget="account" aria-label={words.account.of(me().actor.name)}>
        <Person /> <span class="account-name">{me().actor.name}</span>
      </button>
      <div id="account" popover="auto" class="account" ref={(element) => (popover = element)}>
        <p class="account-who">
          {words.account.pairedAs} <strong>{me().actor.name}</strong>
        </p>
        <p class="muted">
          {words.account.grants}{" "}
          <For each={me().grants} fallback={words.account.noGrants}>
            {(grant) => <code class="grant">{grant}</code>}
          </For>
        </p>
        <Show when={where()}>{(name) => <p class="muted">{words.account.only(name())}</p>}</Show>
        <Show when={problem()}>{(sentence) => <p role="alert">{sentence()}</p>}</Show>
        <button type="button" aria-haspopup="dialog" onClick={openPreferences}>
          <Gear /> {words.preferences.open}
        </button>
        <button type="button" onClick={() => void leave()}>
          {words.account.signOut}
        </button>
      </div>
      <Show when={isPreferring()}>
        <PreferencesDialog close={() => setPreferring(false)} />
      </Show>
    </>
  );
}

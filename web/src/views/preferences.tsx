/* What can be wished of this browser. */
import { For, onMount } from "solid-js";
import { DIFF_LAYOUTS, KEY_CHOICES, prefer, preferences, REMINDERS, THEMES, UNDO_WINDOWS, type Preferences } from "../state/preferences.ts";
import { words } from "../text/words.ts";
import { PushChoice } from "../parts/push-choice.tsx";
import { Sentence } from "../parts/sentence.tsx";

export function PreferencesDialog(props: { close: () => void }) {
  let dialog: HTMLDialogElement | undefined;
  onMount(() => dialog?.showModal());
  const text = words.preferences;
  return (
    <dialog ref={(element) => (dialog = element)} aria-labelledby="preferences-title" onClose={() => props.close()}>
      <form method="dialog">
        <h2 id="preferences-title">{text.title}</h2>
        <p class="muted">{text.about}</p>
        <Choice name="theme" legend={text.theme} choices={THEMES} say={(theme) => text.themes[theme]} />
        <Choice name="undo" legend={text.undo} hint={text.undoHint} choices={UNDO_WINDOWS} say={text.undos} />
        <Choice name="remind" legend={text.remind} hint={text.remindHint} choices={REMINDERS} say={text.reminds} />
        <PushChoice />
        <Choice name="keys" legend={text.keys} hint={text.keysHint} choices={KEY_CHOICES} say={(choice) => text.keyChoices[choice]} />
        <Choice name="diff" legend={text.diff} choices={DIFF_LAYOUTS} say={(layout) => words.diff[layout]} />
        <div class="dialog-buttons">
          <button type="submit" class="primary">
            {words.close}
          </button>
        </div>
      </form>
    </dialog>
  );
}

function Choice<K extends keyof Preferences>(props: {
  name: K;
  legend: string;
  hint?: string;
  choices: readonly Preferences[K][];
  say: (choice: Preferences[K]) => string;
}) {
  return (
    <fieldset aria-describedby={props.hint === undefined ? undefined : `${props.name}-hint`}>
      <legend>{props.legend}</legend>
      <div class="segments">
        <For each={props.choices}>
          {(choice) => (
            <label class="segment">
              <input
                type="radio"
                name={props.name}
                checked={preferences()[props.name] === choice}
                onChange={() => prefer({ [props.name]: choice } as Partial<Preferences>)}
              />
              <span>{props.say(choice)}</span>
            </label>
          )}
        </For>
      </div>
      {props.hint === undefined ? undefined : <small id={`${props.name}-hint`}><Sentence text={props.hint} /></small>}
    </fieldset>
  );
}

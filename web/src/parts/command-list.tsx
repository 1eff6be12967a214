/* The agent's commands that fit what is being written, above the field that they go into. */
import { createEffect, createMemo, createSignal, For, on, Show } from "solid-js";
import type { SlashCommand } from "../api/types.ts";
import { firstMeant, fitting, stepOf, withCommand } from "../state/commands.ts";
import { visible } from "../text/visible.ts";
import { words } from "../text/words.ts";
import { Visible } from "./visible.tsx";

export interface Suggestions {
  shown: () => readonly SlashCommand[];
  meant: () => number;
  /** Takes a key of the field; says whether it was meant for the list. */
  press: (key: string) => boolean;
  take: (command: SlashCommand) => void;
}

export function createSuggestions(
  commands: () => readonly SlashCommand[],
  text: () => string,
  write: (text: string) => void,
): Suggestions {
  const [isClosed, setClosed] = createSignal(false);
  const [meant, setMeant] = createSignal(0);
  const shown = createMemo(() => (isClosed() ? [] : fitting(commands(), text())));
  createEffect(
    on([text, commands], () => {
      setClosed(false);
      setMeant(firstMeant(commands(), text()));
    }),
  );
  const take = (command: SlashCommand) => write(withCommand(command));
  const press = (key: string) => {
    const step = stepOf(key, meant(), shown().length);
    if (step === undefined) return false;
    if (step.do === "move") setMeant(step.to);
    else if (step.do === "close") setClosed(true);
    else {
      const command = shown()[step.which];
      if (command !== undefined) take(command);
    }
    return true;
  };
  return { shown, meant, press, take };
}

export function CommandList(props: { suggestions: Suggestions }) {
  const shown = () => props.suggestions.shown();
  const said = () => {
    const meant = shown()[props.suggestions.meant()];
    return meant === undefined ? "" : `/${visible(meant.name)}: ${visible(meant.description)}. Enter takes it.`;
  };
  return (
    <>
      <Show when={shown().length > 0}>
        <ul class="commands" aria-label={words.composer.commands}>
          <For each={shown()}>
            {(command, index) => (
              <li>
                <button
                  type="button"
                  aria-current={index() === props.suggestions.meant()}
                  // The field keeps the focus.
                  onMouseDown={(event) => event.preventDefault()}
                  onClick={() => props.suggestions.take(command)}
                >
                  <code>
                    /<Visible text={command.name} />
                  </code>
                  <Show when={command.hint}>
                    {(hint) => (
                      <span class="command-hint">
                        <Visible text={hint()} />
                      </span>
                    )}
                  </Show>
                  <span class="command-about">
                    <Visible text={command.description} />
                  </span>
                </button>
              </li>
            )}
          </For>
        </ul>
      </Show>
      {/* Who does not see the list hears which one is meant. */}
      <output class="unseen">{said()}</output>
    </>
  );
}

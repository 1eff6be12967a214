/* What is set for a session: pickers for whoever may set it, words for everybody else, and how full the agent's memory is. */
import { createSignal, createUniqueId, For, Index, Show } from "solid-js";
import { changeSettings, sentenceOf } from "../api/client.ts";
import type { ConfigOption, Selection, SessionView, SetRequest, SettingsView, SettingValue } from "../api/types.ts";
import { learnSettings, settingsOf } from "../state/live.ts";
import { chosenFor, grouped, nameOf, usageLine } from "../text/settings.ts";
import { visible } from "../text/visible.ts";
import { words } from "../text/words.ts";
import { Problem } from "./problem.tsx";

export function SessionSettings(props: { session: SessionView }) {
  return (
    <Show when={settingsOf(props.session.id)}>
      {(known) => (
        <Show when={known().may_set} fallback={<Facts settings={known()} />}>
          <Pickers session={props.session} settings={known()} />
        </Show>
      )}
    </Show>
  );
}

/** A select of any kind, by its name. */
function selections(settings: SettingsView): { name: string; selection: Selection }[] {
  const named = [
    { name: words.settings.mode, selection: settings.mode },
    { name: words.settings.model, selection: settings.model },
    ...settings.options.map((option) => ({ name: visible(option.name), selection: selectionOf(option) })),
  ];
  return named.flatMap(({ name, selection }) => (selection === undefined ? [] : [{ name, selection }]));
}

function selectionOf(option: ConfigOption): Selection | undefined {
  return option.type === "select" ? option : undefined;
}

function Facts(props: { settings: SettingsView }) {
  return (
    <p class="settings settings-facts">
      <For each={selections(props.settings)}>
        {({ name, selection }) => (
          <span>
            {name}: {nameOf(selection, selection.current)}
          </span>
        )}
      </For>
      <Usage settings={props.settings} />
    </p>
  );
}

function Usage(props: { settings: SettingsView }) {
  return <Show when={props.settings.usage}>{(usage) => <span class="usage">{usageLine(usage())}</span>}</Show>;
}

function Pickers(props: { session: SessionView; settings: SettingsView }) {
  const [problem, setProblem] = createSignal<string>();
  const set = async (request: SetRequest) => {
    setProblem(undefined);
    try {
      learnSettings(await changeSettings(props.session.id, request));
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  // Where no agent runs, what was chosen is what the next one is told.
  const chosen = (...setting: Parameters<typeof chosenFor>) => (props.session.activity === "gone" ? chosenFor(...setting) : undefined);
  return (
    <>
      <Problem lead={words.settings.notSet} sentence={problem()} />
      <fieldset class="settings">
        <legend class="unseen">{words.settings.title}</legend>
        <Show when={props.settings.mode}>
          {(mode) => (
            <Picker
              name={words.settings.mode}
              selection={mode()}
              chosen={chosen(props.settings.chosen, "mode")}
              set={(id) => set({ mode: id })}
            />
          )}
        </Show>
        <Show when={props.settings.model}>
          {(model) => (
            <Picker
              name={words.settings.model}
              selection={model()}
              chosen={chosen(props.settings.chosen, "model")}
              set={(id) => set({ model: id })}
            />
          )}
        </Show>
        {/* By place, so that a picker stays the same element when another one changes. */}
        <Index each={props.settings.options}>
          {(option) => (
            <Option
              option={option()}
              chosen={chosen(props.settings.chosen, { option: option().id })}
              set={(value) => set({ option: option().id, value })}
            />
          )}
        </Index>
        <Usage settings={props.settings} />
      </fieldset>
    </>
  );
}

function Option(props: { option: ConfigOption; chosen: SettingValue | undefined; set: (value: SettingValue) => Promise<void> }) {
  const on = () => (props.option.type === "boolean" ? (props.chosen ?? props.option.on) === true : undefined);
  return (
    <>
      <Show when={selectionOf(props.option)}>
        {(selection) => (
          <Picker
            name={visible(props.option.name)}
            about={props.option.description}
            selection={selection()}
            chosen={props.chosen}
            set={props.set}
          />
        )}
      </Show>
      <Show when={on() !== undefined}>
        <label class="setting" title={visible(props.option.description ?? "")}>
          <input
            type="checkbox"
            checked={on() === true}
            onChange={async (event) => {
              const box = event.currentTarget;
              await props.set(box.checked);
              box.checked = on() === true;
            }}
          />{" "}
          {visible(props.option.name)}
        </label>
      </Show>
    </>
  );
}

function Picker(props: {
  name: string;
  about?: string | undefined;
  selection: Selection;
  chosen: SettingValue | undefined;
  set: (id: string) => Promise<void>;
}) {
  const field = createUniqueId();
  const current = () => (typeof props.chosen === "string" ? props.chosen : props.selection.current);
  const isOffered = () => props.selection.choices.some((choice) => choice.id === current());
  const about = () => props.selection.choices.find((choice) => choice.id === current())?.description ?? props.about ?? "";
  const item = (id: string, name: string) => (
    <option value={id} selected={id === current()}>
      {name}
    </option>
  );
  return (
    <span class="setting">
      <label for={field}>{props.name}</label>
      <select
        id={field}
        title={visible(about())}
        onChange={async (event) => {
          const select = event.currentTarget;
          await props.set(select.value);
          // What is shown is what is set, whatever came of the wish.
          select.value = current();
        }}
      >
        <Show when={!isOffered()}>{item(current(), visible(current()))}</Show>
        <For each={grouped(props.selection.choices)}>
          {({ group, choices }) => (
            <Show
              when={group !== ""}
              fallback={<For each={choices}>{(choice) => item(choice.id, visible(choice.name))}</For>}
            >
              <optgroup label={visible(group)}>
                <For each={choices}>{(choice) => item(choice.id, visible(choice.name))}</For>
              </optgroup>
            </Show>
          )}
        </For>
      </select>
    </span>
  );
}

/* Writes a prompt: for a session, or for a new one. */
import { createEffect, createResource, createSignal, For, Show } from "solid-js";
import { readEngines } from "../api/client.ts";
import type { NewSession, SlashCommand } from "../api/types.ts";
import { isImage } from "../state/attaching.ts";
import { attach, beginSession, draftOf, NEW_SESSION, sendDraft, writeDraft } from "../state/prompting.ts";
import { ledger, settingsOf } from "../state/live.ts";
import { words } from "../text/words.ts";
import { AttachButton, AttachedChips, takeFiles } from "./attachments.tsx";
import { CommandList, createSuggestions } from "./command-list.tsx";
import { EarlierDialog } from "./earlier-dialog.tsx";
import { GrowingField } from "./growing-field.tsx";
import { Alert, Send } from "./icons.tsx";
import { Problem } from "./problem.tsx";

/** The field and its button; what could not be sent stays in it. */
function Composer(props: {
  place: string;
  label: string;
  placeholder: string;
  /** The commands that a prompt can begin with. */
  commands?: readonly SlashCommand[];
  takesNoImages?: string | undefined;
  send: () => void;
}) {
  const draft = () => draftOf(props.place);
  const [isDropping, setDropping] = createSignal(false);
  const refused = () => (draft().attached.some(isImage) ? props.takesNoImages : undefined);
  const send = () => {
    if (refused() === undefined) props.send();
  };
  const suggestions = createSuggestions(
    () => props.commands ?? [],
    () => draft().text,
    (text) => writeDraft(props.place, text),
  );
  let field: HTMLTextAreaElement | undefined;
  createEffect((wasSending: boolean) => {
    const isSending = draft().sending;
    if (wasSending && !isSending) field?.focus();
    return isSending;
  }, false);
  return (
    <form
      class="composer"
      classList={{ "composer-dropping": isDropping() }}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      ref={(form) => takeFiles(form, { take: (files) => void attach(props.place, files), dropping: setDropping })}
    >
      <Problem lead={words.composer.notSent} sentence={draft().problem} />
      <AttachedChips place={props.place} />
      <Show when={refused()}>
        {(sentence) => (
          <p class="note note-warning" role="alert">
            <Alert />
            <span>{sentence()}</span>
          </p>
        )}
      </Show>
      <CommandList suggestions={suggestions} />
      <div class="composer-row">
        <AttachButton place={props.place} disabled={draft().sending} />
        <GrowingField
          label={props.label}
          placeholder={props.placeholder}
          value={draft().text}
          write={(text) => writeDraft(props.place, text)}
          send={send}
          disabled={draft().sending}
          takesKey={suggestions.press}
          ref={(element) => (field = element)}
        />
        <button type="submit" class="primary composer-send" aria-label={words.send} disabled={draft().sending || draft().text.trim() === "" || refused() !== undefined}>
          <Send />
        </button>
      </div>
    </form>
  );
}

export function SessionComposer(props: { session: string }) {
  const takesNoImages = () => {
    const session = ledger().sessions[props.session];
    return session?.takes?.images === false ? `${session.agent} takes no images: remove them to send the rest.` : undefined;
  };
  return (
    <Composer
      place={props.session}
      label={words.composer.prompt}
      placeholder={ledger().sessions[props.session]?.activity === "busy" ? words.composer.queueHint : words.composer.promptHint}
      commands={settingsOf(props.session)?.commands ?? []}
      send={() => void sendDraft(props.session)}
      takesNoImages={takesNoImages()}
    />
  );
}

export function NewSessionComposer() {
  const [workspace, setWorkspace] = createSignal<string>();
  const [engine, setEngine] = createSignal("");
  const [isPicking, setPicking] = createSignal(false);
  const workspaces = () => ledger().workspaces;
  const isWritten = () => draftOf(NEW_SESSION).text !== "";
  // Nobody has to wait for the list, or for a server that cannot say: without it the usual agent is meant.
  const [engines] = createResource(isWritten, async () => (await readEngines().catch(() => [])).filter((each) => each.program));
  const wish = (): NewSession => {
    const where = workspace() ?? workspaces()[0]?.id;
    return { ...(where === undefined ? {} : { workspace: where }), ...(engine() === "" ? {} : { engine: engine() }) };
  };
  return (
    <div class="new-session">
      <Composer
        place={NEW_SESSION}
        label={words.composer.begin}
        placeholder={words.composer.beginHint}
        send={() => void beginSession(wish())}
      />
      <div class="new-session-where">
        <button type="button" class="quiet earlier-open" onClick={() => setPicking(true)}>
          {words.earlier.open}
        </button>
        <Show when={isPicking()}>
          <EarlierDialog close={() => setPicking(false)} />
        </Show>
        <Show when={workspaces().length > 1 && isWritten()}>
          <label>
            {words.composer.in}{" "}
            <select onChange={(event) => setWorkspace(event.currentTarget.value)}>
              <For each={workspaces()}>{(each) => <option value={each.id}>{each.name}</option>}</For>
            </select>
          </label>
        </Show>
        <Show when={isWritten() && (engines.latest ?? []).length > 0}>
          <label>
            {words.composer.with}{" "}
            <select onChange={(event) => setEngine(event.currentTarget.value)}>
              <option value="">{words.composer.usual}</option>
              <For each={engines.latest}>
                {(each) => (
                  <option value={each.name} selected={each.name === engine()}>
                    {each.title}
                  </option>
                )}
              </For>
            </select>
          </label>
        </Show>
      </div>
    </div>
  );
}

/* What comes along with prompts: picked before, and shown in the transcript after. */
import { createResource, createSignal, createUniqueId, For, onCleanup, Show } from "solid-js";
import { readAttachmentContent } from "../api/client.ts";
import type { Attachment } from "../api/types.ts";
import { isImage, type Attached } from "../state/attaching.ts";
import { attach, detach, draftOf } from "../state/prompting.ts";
import { bytes } from "../text/bytes.ts";
import { words } from "../text/words.ts";
import { Clip, Cross, File as FileIcon, Picture } from "./icons.tsx";
import { Visible } from "./visible.tsx";

/** Has an element take files that are dropped on it or pasted into it. The button does the same for who has no mouse. */
export function takeFiles(element: HTMLElement, on: { take: (files: File[]) => void; dropping: (isOver: boolean) => void }): void {
  const taken = (event: DragEvent | ClipboardEvent, files: FileList | undefined) => {
    if (files === undefined || files.length === 0) return;
    event.preventDefault();
    on.take([...files]);
  };
  element.addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files") !== true) return;
    event.preventDefault();
    on.dropping(true);
  });
  element.addEventListener("dragleave", () => on.dropping(false));
  element.addEventListener("drop", (event) => {
    on.dropping(false);
    taken(event, event.dataTransfer?.files);
  });
  element.addEventListener("paste", (event) => {
    // Where there are words as well, the words are meant: some programs copy a picture of them along.
    if (event.clipboardData?.getData("text/plain") === "") taken(event, event.clipboardData.files);
  });
}

/** The button that picks files, for a prompt that is being written at `place`. */
export function AttachButton(props: { place: string; disabled: boolean }) {
  const id = createUniqueId();
  let input: HTMLInputElement | undefined;
  return (
    <>
      <input
        id={id}
        class="unseen"
        type="file"
        multiple
        tabindex="-1"
        aria-label={words.attachments.pick}
        disabled={props.disabled}
        ref={(element) => (input = element)}
        onChange={(event) => {
          void attach(props.place, [...(event.currentTarget.files ?? [])]);
          // The same file can be picked again after it was removed.
          event.currentTarget.value = "";
        }}
      />
      <button type="button" class="quiet composer-attach" aria-label={words.attachments.attach} title={words.attachments.attach} disabled={props.disabled} onClick={() => input?.click()}>
        <Clip />
      </button>
    </>
  );
}

/** What will be sent along, each with a button that takes it away. */
export function AttachedChips(props: { place: string }) {
  const draft = () => draftOf(props.place);
  return (
    <Show when={draft().attached.length > 0}>
      <ul class="attached" aria-label={words.attachments.title}>
        <For each={draft().attached}>{(each) => <AttachedChip place={props.place} attached={each} disabled={draft().sending} />}</For>
      </ul>
    </Show>
  );
}

function AttachedChip(props: { place: string; attached: Attached; disabled: boolean }) {
  return (
    <li class="chip attached-chip">
      <Show when={isImage(props.attached)} fallback={<FileIcon />}>
        <Picture />
      </Show>
      <span class="attached-name">
        <Visible text={props.attached.name} />
      </span>
      <span class="muted">{bytes(props.attached.size)}</span>
      <button
        type="button"
        class="quiet attached-remove"
        aria-label={words.attachments.remove(props.attached.name)}
        disabled={props.disabled}
        onClick={() => detach(props.place, props.attached.key)}
      >
        <Cross />
      </button>
    </li>
  );
}

/** Something that came along with a prompt, in the transcript. */
export function AttachmentPiece(props: { attachment: Attachment }) {
  const [isWanted, setWanted] = createSignal(false);
  const isPicture = () => props.attachment.kept && props.attachment.media_type?.startsWith("image/") === true;
  return (
    <div class="attachment">
      <span class="unseen">{words.attachments.attached} </span>
      <span class="chip attached-chip">
        <Show when={isPicture()} fallback={<FileIcon />}>
          <Picture />
        </Show>
        <span class="attached-name">
          <Visible text={props.attachment.name} />
        </span>
        <span class="muted">
          {props.attachment.kept ? bytes(props.attachment.size) : words.attachments.onlyName(bytes(props.attachment.size))}
        </span>
      </span>
      <Show when={isPicture()}>
        <button type="button" class="quiet attachment-show" aria-expanded={isWanted()} onClick={() => setWanted(!isWanted())}>
          {isWanted() ? words.attachments.hide : words.attachments.show}
        </button>
        <Show when={isWanted()}>
          <AttachedImage id={props.attachment.id} name={props.attachment.name} />
        </Show>
      </Show>
    </div>
  );
}

/** The address of a picture cannot show who wants it, so the page reads it and shows what it has read. */
function AttachedImage(props: { id: string; name: string }) {
  const [address] = createResource(
    () => props.id,
    async (id) => URL.createObjectURL(await readAttachmentContent(id)),
  );
  onCleanup(() => {
    const shown = address.error === undefined ? address() : undefined;
    if (shown !== undefined) URL.revokeObjectURL(shown);
  });
  return (
    <Show when={address.error === undefined} fallback={<p class="notice">{words.attachments.unread}</p>}>
      <Show when={address()} fallback={<p class="notice">{words.attachments.reading}</p>}>
        {(shown) => <img class="attachment-image" src={shown()} alt={props.name} />}
      </Show>
    </Show>
  );
}

/* Sends prompts. What could not be sent stays where it was written, and sending it again begins no second turn. */
import { createSignal } from "solid-js";
import { sendPrompt, sentenceOf, startSession } from "../api/client.ts";
import { newTurnId } from "../api/turn-id.ts";
import type { NewSession } from "../api/types.ts";
import { goTo } from "../router.ts";
import { readAttachment, tooMuch, type Attached } from "./attaching.ts";
import { learnSession } from "./live.ts";

/** A prompt that is being written, or on its way, for one session or for a new one. */
export interface Draft {
  text: string;
  /** The turn that it will begin; a new one with every change of the text. */
  turn: string;
  sending: boolean;
  /** What comes along. */
  attached: readonly Attached[];
  problem?: string;
}

/** The place of the prompt that begins a session. */
export const NEW_SESSION = "new";

const EMPTY: Draft = { text: "", turn: "", sending: false, attached: [] };

const [drafts, setDrafts] = createSignal<Readonly<Record<string, Draft>>>({});

export function draftOf(place: string): Draft {
  return drafts()[place] ?? EMPTY;
}

export function writeDraft(place: string, text: string): void {
  put(place, { text, turn: newTurnId(), sending: false, attached: draftOf(place).attached });
}

/** Reads files to be sent along; what cannot be is said, and the others stay. */
export async function attach(place: string, files: readonly File[]): Promise<void> {
  const problems: string[] = [];
  const read: Attached[] = [];
  for (const file of files) {
    try {
      read.push(await readAttachment(file, newTurnId()));
    } catch (error) {
      problems.push(sentenceOf(error));
    }
  }
  const draft = draftOf(place);
  if (draft.sending) return;
  const attached = [...draft.attached, ...read];
  const excess = tooMuch(attached);
  if (excess !== undefined) problems.push(excess);
  const { text } = draft;
  const kept = excess === undefined ? attached : draft.attached;
  put(place, {
    text,
    turn: newTurnId(),
    sending: false,
    attached: kept,
    ...(problems.length === 0 ? {} : { problem: problems.join(" ") }),
  });
}

/** Takes away something that was to be sent along. */
export function detach(place: string, key: string): void {
  const { text, attached } = draftOf(place);
  put(place, { text, turn: newTurnId(), sending: false, attached: attached.filter((each) => each.key !== key) });
}

/** Sends what was written for a session. */
export async function sendDraft(session: string): Promise<void> {
  const draft = draftOf(session);
  const text = draft.text.trim();
  if (text === "" || draft.sending) return;
  put(session, { text: draft.text, turn: draft.turn, sending: true, attached: draft.attached });
  try {
    await sendPrompt(session, text, draft.turn, draft.attached.map((each) => each.body));
    put(session, EMPTY);
  } catch (error) {
    put(session, { ...draft, sending: false, problem: sentenceOf(error) });
  }
}

/** Starts a session with what was written for a new one, and goes there. */
export async function beginSession(wish: NewSession): Promise<void> {
  const draft = draftOf(NEW_SESSION);
  if (draft.text.trim() === "" || draft.sending) return;
  put(NEW_SESSION, { text: draft.text, turn: draft.turn, sending: true, attached: draft.attached });
  try {
    const session = await startSession(wish);
    learnSession(session);
    put(session.id, { text: draft.text, turn: draft.turn, sending: false, attached: draft.attached });
    put(NEW_SESSION, EMPTY);
    goTo({ page: "session", session: session.id });
    await sendDraft(session.id);
  } catch (error) {
    put(NEW_SESSION, { ...draft, sending: false, problem: sentenceOf(error) });
  }
}

function put(place: string, draft: Draft): void {
  setDrafts({ ...drafts(), [place]: draft });
}

/* Sends prompts. What could not be sent stays where it was written, and sending it again begins no second turn. */
import { createSignal } from "solid-js";
import { sendPrompt, sentenceOf, startSession } from "../api/client.ts";
import { newTurnId } from "../api/turn-id.ts";
import type { NewSession } from "../api/types.ts";
import { goTo } from "../router.ts";
import { learnSession } from "./live.ts";

/** A prompt that is being written, or on its way, for one session or for a new one. */
export interface Draft {
  text: string;
  /** The turn that it will begin; a new one with every change of the text. */
  turn: string;
  sending: boolean;
  problem?: string;
}

/** The place of the prompt that begins a session. */
export const NEW_SESSION = "new";

const [drafts, setDrafts] = createSignal<Readonly<Record<string, Draft>>>({});

export function draftOf(place: string): Draft {
  return drafts()[place] ?? { text: "", turn: "", sending: false };
}

export function writeDraft(place: string, text: string): void {
  put(place, { text, turn: newTurnId(), sending: false });
}

/** Sends what was written for a session. */
export async function sendDraft(session: string): Promise<void> {
  const draft = draftOf(session);
  const text = draft.text.trim();
  if (text === "" || draft.sending) return;
  put(session, { text: draft.text, turn: draft.turn, sending: true });
  try {
    await sendPrompt(session, text, draft.turn);
    writeDraft(session, "");
  } catch (error) {
    put(session, { ...draft, sending: false, problem: sentenceOf(error) });
  }
}

/** Starts a session with what was written for a new one, and goes there. */
export async function beginSession(wish: NewSession): Promise<void> {
  const draft = draftOf(NEW_SESSION);
  if (draft.text.trim() === "" || draft.sending) return;
  put(NEW_SESSION, { text: draft.text, turn: draft.turn, sending: true });
  try {
    const session = await startSession(wish);
    learnSession(session);
    put(session.id, { text: draft.text, turn: draft.turn, sending: false });
    writeDraft(NEW_SESSION, "");
    goTo({ page: "session", session: session.id });
    await sendDraft(session.id);
  } catch (error) {
    put(NEW_SESSION, { ...draft, sending: false, problem: sentenceOf(error) });
  }
}

function put(place: string, draft: Draft): void {
  setDrafts({ ...drafts(), [place]: draft });
}

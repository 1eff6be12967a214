/* Sends answers, and remembers for each ask how that went until the ledger has told the rest. */
import { createSignal } from "solid-js";
import { answerAsk, ApiError, sentenceOf } from "../api/client.ts";
import type { AnswerRequest } from "../api/types.ts";
import { learnAsk } from "./live.ts";

export type Attempt =
  | { kind: "sending" }
  /** Somebody was first, or the ask was over: it says how itself. */
  | { kind: "late" }
  | { kind: "failed"; problem: string };

const [attempts, setAttempts] = createSignal<Readonly<Record<string, Attempt>>>({});

/** How the newest answer from this page to an ask went; nothing once it was accepted. */
export const attemptOf = (ask: string): Attempt | undefined => attempts()[ask];

/** Sends an answer, unless one is on its way. */
export async function sendAnswer(ask: string, answer: AnswerRequest): Promise<void> {
  if (attempts()[ask]?.kind === "sending") return;
  setAttempts({ ...attempts(), [ask]: { kind: "sending" } });
  try {
    learnAsk(await answerAsk(ask, answer));
    forget(ask);
  } catch (error) {
    if (error instanceof ApiError && error.ask !== undefined) {
      learnAsk(error.ask);
      setAttempts({ ...attempts(), [ask]: { kind: "late" } });
    } else {
      setAttempts({ ...attempts(), [ask]: { kind: "failed", problem: sentenceOf(error) } });
    }
  }
}

function forget(ask: string): void {
  setAttempts(Object.fromEntries(Object.entries(attempts()).filter(([id]) => id !== ask)));
}

/* What has to be said beside the buttons. */
import { Show } from "solid-js";
import type { AskView } from "../api/types.ts";
import { attemptOf } from "../state/answering.ts";
import { me } from "../state/identity.ts";
import { obstacleOf } from "../text/phrases.ts";
import { words } from "../text/words.ts";
import { Alert } from "./icons.tsx";
import { Problem } from "./problem.tsx";
import { Sentence } from "./sentence.tsx";

/** What went wrong with the last try, if something did; trying again is harmless. */
export function Failure(props: { ask: string }) {
  const problem = () => {
    const attempt = attemptOf(props.ask);
    return attempt?.kind === "failed" ? attempt.problem : undefined;
  };
  return <Problem lead={words.answer.notAccepted} sentence={problem()} />;
}

/** Tells that a denial takes other asks with it. */
export function SiblingWarning(props: { count: number }) {
  return (
    <Show when={props.count > 0}>
      <p class="note note-warning">
        <Alert />
        <span>{words.answer.falls(props.count)}</span>
      </p>
    </Show>
  );
}

/** Stands where the buttons would be. */
export function MissingGrant(props: { ask: AskView }) {
  const why = () => {
    switch (obstacleOf(props.ask, me())) {
      case "answer":
        return words.answer.noAnswer;
      case "approve":
        return words.answer.noApprove;
      case "own":
        return words.answer.own;
    }
  };
  return (
    <p class="note">
      <span>
        <Sentence text={why()} />
      </span>
    </p>
  );
}

/* What has to be said beside the buttons. */
import { Show } from "solid-js";
import { attemptOf } from "../state/answering.ts";
import { plural } from "../text/phrases.ts";
import { Alert } from "./icons.tsx";
import { Problem } from "./problem.tsx";

/** What went wrong with the last try, if something did; trying again is harmless. */
export function Failure(props: { ask: string }) {
  const problem = () => {
    const attempt = attemptOf(props.ask);
    return attempt?.kind === "failed" ? attempt.problem : undefined;
  };
  return <Problem lead="Your answer was not accepted." sentence={problem()} />;
}

/** Tells that a denial takes other asks with it. */
export function SiblingWarning(props: { count: number }) {
  return (
    <Show when={props.count > 0}>
      <p class="note note-warning">
        <Alert />
        <span>If you deny, {plural(props.count, "other ask")} of this session will fall with it.</span>
      </p>
    </Show>
  );
}

/** Stands where the buttons would be. */
export function MissingGrant() {
  return (
    <p class="note">
      <span>
        You can read this ask but not answer it: your grant <code>answer</code> is missing. A pairing link with the role{" "}
        <em>collaborator</em>, <em>approver</em> or <em>owner</em> has it.
      </span>
    </p>
  );
}

/* Where an ask comes from: session, the session above it, workspace; or the client that proposes a write. */
import { createEffect, Show } from "solid-js";
import type { AskView } from "../api/types.ts";
import { fragmentOf } from "../router.ts";
import { ledger, wantSession } from "../state/live.ts";
import { clientOf } from "../text/phrases.ts";
import { words } from "../text/words.ts";
import { Visible } from "./visible.tsx";

/** A session's title as a link to it; its id until the title is known. */
export function SessionLink(props: { session: string }) {
  createEffect(() => wantSession(props.session));
  const title = () => {
    const known = ledger().sessions[props.session];
    return known === undefined || known.title === "" ? props.session : known.title;
  };
  return (
    <a href={fragmentOf({ page: "session", session: props.session })}>
      <Visible text={title()} />
    </a>
  );
}

export function workspaceName(id: string): string {
  return ledger().workspaces.find((workspace) => workspace.id === id)?.name ?? id;
}

export function Requester(props: { ask: AskView }) {
  const write = () => (props.ask.subject.kind === "workspace_write" ? props.ask.subject : undefined);
  return (
    <p class="requester">
      <Show when={write()} fallback={<SessionLink session={props.ask.session} />}>
        {(subject) => (
          <Show when={clientOf(subject())} fallback={words.shown.noClient}>
            {(client) => (
              <span>
                {words.shown.client} <Visible text={client()} />
              </span>
            )}
          </Show>
        )}
      </Show>
      <Show when={props.ask.parent_session}>
        {(parent) => (
          <span>
            {" "}
            · {words.shown.subAgent} <SessionLink session={parent()} />
          </span>
        )}
      </Show>
      <span class="muted"> · {workspaceName(props.ask.workspace)}</span>
    </p>
  );
}

/* Picks a session that an engine had before, to go on with it. */
import { createResource, createSignal, createUniqueId, For, Match, onMount, Show, Switch } from "solid-js";
import { readEarlierSessions, readEngines, sentenceOf, startSession } from "../api/client.ts";
import type { EarlierSession } from "../api/types.ts";
import { goTo } from "../router.ts";
import { learnSession, ledger } from "../state/live.ts";
import { words } from "../text/words.ts";
import { Alert } from "./icons.tsx";
import { Problem } from "./problem.tsx";
import { Sentence } from "./sentence.tsx";
import { Ago } from "./time.tsx";
import { Visible } from "./visible.tsx";

const OPENCODE = "opencode";

export function EarlierDialog(props: { close: () => void }) {
  const title = createUniqueId();
  const [workspace, setWorkspace] = createSignal(ledger().workspaces[0]?.id);
  const [chosen, setEngine] = createSignal<string>();
  const [problem, setProblem] = createSignal<string>();
  const [taking, setTaking] = createSignal<string>();
  let dialog: HTMLDialogElement | undefined;
  onMount(() => dialog?.showModal());

  const [engines] = createResource(async () => (await readEngines()).filter((each) => each.program));
  const hasOpencode = () => ledger().workspaces.find(({ id }) => id === workspace())?.engine.program === OPENCODE;
  const names = () => [
    ...(hasOpencode() ? [{ name: OPENCODE, title: OPENCODE }] : []),
    ...(engines.error === undefined ? (engines.latest ?? []) : []),
  ];
  const engine = () => chosen() ?? names()[0]?.name;
  const question = () => {
    const [who, where] = [engine(), workspace()];
    return who === undefined || where === undefined ? undefined : { who, where };
  };
  const [earlier] = createResource(question, ({ who, where }) => readEarlierSessions(who, where));

  const takeUp = async (session: EarlierSession) => {
    const asked = question();
    if (asked === undefined || taking() !== undefined) return;
    setTaking(session.native_id);
    setProblem(undefined);
    try {
      const view = await startSession({ workspace: asked.where, engine: asked.who, earlier: session.native_id });
      learnSession(view);
      dialog?.close();
      goTo({ page: "session", session: view.id });
    } catch (error) {
      setProblem(sentenceOf(error));
    } finally {
      setTaking(undefined);
    }
  };
  return (
    <dialog ref={(element) => (dialog = element)} aria-labelledby={title} onClose={() => props.close()}>
      <div class="earlier">
        <h2 id={title}>{words.earlier.title}</h2>
        <div class="new-session-where">
          <label>
            {words.earlier.of}{" "}
            <select onChange={(event) => setEngine(event.currentTarget.value)}>
              <For each={names()}>{(each) => <option value={each.name}>{each.title}</option>}</For>
            </select>
          </label>
          <Show when={ledger().workspaces.length > 1}>
            <label>
              {words.composer.in}{" "}
              <select onChange={(event) => setWorkspace(event.currentTarget.value)}>
                <For each={ledger().workspaces}>{(each) => <option value={each.id}>{each.name}</option>}</For>
              </select>
            </label>
          </Show>
        </div>
        <Problem sentence={problem()} />
        <div aria-live="polite">
          <Switch>
            <Match when={earlier.loading}>
              <p class="quiet-note muted">{words.earlier.asking}</p>
            </Match>
            <Match when={earlier.error as unknown}>
              {(error) => (
                <p class="note">
                  <Alert />
                  <span>
                    <Sentence text={sentenceOf(error())} />
                  </span>
                </p>
              )}
            </Match>
            <Match when={earlier()}>
              {(listed) => (
                <>
                  <ul class="earlier-list">
                    <For each={listed().sessions} fallback={<li class="rows-empty">{words.earlier.none}</li>}>
                      {(session) => <Earlier session={session} isTaken={taking() === session.native_id} pick={() => void takeUp(session)} />}
                    </For>
                  </ul>
                  <Show when={listed().has_more}>
                    <p class="muted">{words.earlier.more}</p>
                  </Show>
                </>
              )}
            </Match>
          </Switch>
        </div>
        <div class="dialog-buttons">
          <button type="button" onClick={() => dialog?.close()}>
            {words.close}
          </button>
        </div>
      </div>
    </dialog>
  );
}

function Earlier(props: { session: EarlierSession; isTaken: boolean; pick: () => void }) {
  const isMoment = () => !Number.isNaN(Date.parse(props.session.updated_at));
  return (
    <li>
      <button type="button" class="earlier-pick" disabled={props.isTaken} onClick={() => props.pick()}>
        <span class="earlier-title">
          <Visible text={props.session.title === "" ? props.session.native_id : props.session.title} />
        </span>
        <span class="muted">
          <Show when={isMoment()}>
            <Ago at={props.session.updated_at} />
          </Show>
          <Show when={props.session.known}> · {words.earlier.known}</Show>
        </span>
      </button>
    </li>
  );
}

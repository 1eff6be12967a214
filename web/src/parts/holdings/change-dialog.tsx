/* A change before it is proposed: the difference of every file, who will be asked, and what changed meanwhile. */
import { createSignal, For, Match, onMount, Show, Switch } from "solid-js";
import { ApiError, previewChange, proposeChange, sentenceOf } from "../../api/client.ts";
import type { AskView, ChangePreview, NewChange } from "../../api/types.ts";
import { fragmentOf } from "../../router.ts";
import { holds } from "../../state/identity.ts";
import { ledger, learnAsk, noteWrite } from "../../state/live.ts";
import { words } from "../../text/words.ts";
import { DiffView } from "../diff.tsx";
import { Dialog } from "../dialog.tsx";
import { Alert, Check, Clock } from "../icons.tsx";
import { Problem } from "../problem.tsx";
import { Sentence } from "../sentence.tsx";
import { Visible } from "../visible.tsx";

export function ChangeDialog(props: {
  workspace: string;
  change: NewChange;
  /** The digest of the file that the change was made from. */
  read?: string | undefined;
  /** It is proposed or written. */
  done: () => void;
  /** Somebody wants to begin anew from the file as it is now. */
  takeTheirs?: (() => void) | undefined;
  close: () => void;
}) {
  const [preview, setPreview] = createSignal<ChangePreview>();
  const [problem, setProblem] = createSignal<string>();
  const [isBusy, setBusy] = createSignal(false);
  const [isAgain, setAgain] = createSignal(false);
  const [ask, setAsk] = createSignal<AskView>();
  const root = () => ledger().workspaces.find(({ id }) => id === props.workspace)?.path;
  const place = () => {
    const path = root();
    return path === undefined ? undefined : { directory: path, root: path };
  };
  onMount(async () => {
    try {
      setPreview(await previewChange(props.workspace, props.change, props.read));
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  });
  const propose = async (seen: ChangePreview) => {
    setBusy(true);
    setProblem(undefined);
    try {
      const outcome = await proposeChange(props.workspace, props.change, seen.digest);
      if (outcome.outcome === "asked") {
        learnAsk(outcome.ask);
        setAsk(outcome.ask);
      } else {
        noteWrite(props.workspace);
        props.done();
      }
    } catch (error) {
      const newer = error instanceof ApiError ? (error.details["preview"] as ChangePreview | undefined) : undefined;
      if (newer === undefined) setProblem(sentenceOf(error));
      else {
        setPreview(newer);
        setAgain(true);
      }
    } finally {
      setBusy(false);
    }
  };
  // What was proposed is done, however the dialog is left.
  const close = () => (ask() === undefined ? props.close() : props.done());
  return (
    <Dialog title={<Visible text={preview()?.summary ?? words.holdings.look} />} class="change-dialog" close={close}>
      <div class="change-body">
        <Problem sentence={problem()} />
        <Switch fallback={<Show when={problem() === undefined}><p class="muted">{words.change.looking}</p></Show>}>
          <Match when={ask()}>
            {(opened) => (
              <output class="note note-good">
                <Clock />
                <span>
                  {words.change.proposed} <a href={fragmentOf({ page: "ask", ask: opened().id })}>{words.change.show}</a>
                </span>
              </output>
            )}
          </Match>
          <Match when={preview()}>
            {(seen) => (
              <>
                <Show when={seen().newer}>
                  {(newer) => (
                    <div class="note note-warning" role="alert">
                      <Alert />
                      <div class="note-text">
                        <strong>{words.change.newer}</strong> {words.change.newerSays}
                        <Show when={newer().text} fallback={<p>{words.change.newerGone}</p>}>
                          {(text) => (
                            <details>
                              <summary>{words.change.newerNow}</summary>
                              <pre class="code" tabindex="0">
                                <Visible text={text()} />
                              </pre>
                            </details>
                          )}
                        </Show>
                      </div>
                    </div>
                  )}
                </Show>
                <Show when={isAgain()}>
                  <p class="note note-warning" role="alert">
                    <Alert />
                    <span>{words.change.again}</span>
                  </p>
                </Show>
                <Show when={seen().changed} fallback={<p class="note"><Check /><span>{words.change.same}</span></p>}>
                  <For each={seen().files}>{(file) => <DiffView path={file.path} patch={file.patch} place={place()} />}</For>
                  <Show when={seen().asked} fallback={<p class="muted">{words.change.writes}</p>}>
                    <p class="muted">
                      {words.change.asks}{" "}
                      <Show when={holds("approve")}>
                        <Sentence text={words.change.alone} />
                      </Show>
                    </p>
                  </Show>
                </Show>
              </>
            )}
          </Match>
        </Switch>
      </div>
      <div class="dialog-buttons">
        <Show
          when={ask() === undefined}
          fallback={
            <button type="button" class="primary" onClick={() => props.done()}>
              {words.change.done}
            </button>
          }
        >
          <Show when={preview()?.newer !== undefined && props.takeTheirs}>
            {(take) => (
              <button type="button" class="quiet" onClick={() => take()()}>
                {words.change.takeTheirs}
              </button>
            )}
          </Show>
          <button type="button" onClick={() => props.close()}>
            {words.change.back}
          </button>
          <Show when={preview()?.changed === true ? preview() : undefined}>
            {(seen) => (
              <button type="button" class="primary" disabled={isBusy()} onClick={() => void propose(seen())}>
                {isBusy() ? words.change.sending : seen().asked ? words.change.propose : words.change.write}
              </button>
            )}
          </Show>
        </Show>
      </div>
    </Dialog>
  );
}

/* Hands a job in. What could not be handed in stays, and handing it in again makes no second job. */
import { createResource, createSignal, createUniqueId, For, onMount, Show, type JSX } from "solid-js";
import { handInJob, readEngines, sentenceOf } from "../api/client.ts";
import type { JobView, NewJob } from "../api/types.ts";
import { goTo } from "../router.ts";
import { holds } from "../state/identity.ts";
import { newJobId } from "../state/jobs.ts";
import { learnJob, ledger } from "../state/live.ts";
import { words } from "../text/words.ts";
import { Problem } from "./problem.tsx";

const OPENCODE = "opencode";
const KINDS = ["task", "review", "adversarial_review"] as const;
const ON_ASKS = ["wait", "deny", "allow"] as const;

interface Wish {
  id: string;
  kind: JobView["kind"];
  prompt: string;
  workspace: string | undefined;
  engine: string;
  worktree: boolean;
  readOnly: boolean;
  onAsk: JobView["on_ask"];
  priority: number;
  /** In minutes. */
  deadline: number | undefined;
}

const nothing = (): Wish => ({
  id: newJobId("task"),
  kind: "task",
  prompt: "",
  workspace: undefined,
  engine: "",
  worktree: false,
  readOnly: false,
  onAsk: "wait",
  priority: 0,
  deadline: undefined,
});

/** What was written stays when the dialog is closed by mistake. */
const [wish, setWish] = createSignal<Wish>(nothing());

function toJob(wished: Wish): NewJob {
  return {
    id: wished.id,
    kind: wished.kind,
    prompt: wished.prompt.trim(),
    on_ask: wished.onAsk,
    access: wished.readOnly ? "read_only" : "write",
    worktree: wished.worktree,
    priority: wished.priority,
    ...(wished.workspace === undefined ? {} : { workspace: wished.workspace }),
    ...(wished.engine === "" ? {} : { engine: wished.engine }),
    ...(wished.deadline === undefined ? {} : { deadline_seconds: wished.deadline * 60 }),
  };
}

export function NewJobDialog(props: { close: () => void }) {
  const [problem, setProblem] = createSignal<string>();
  const [isSending, setSending] = createSignal(false);
  const title = createUniqueId();
  let dialog: HTMLDialogElement | undefined;
  onMount(() => dialog?.showModal());
  const [engines] = createResource(async () => (await readEngines().catch(() => [])).filter((each) => each.program));
  const hasOpencode = () => ledger().workspaces.some((workspace) => workspace.engine.program === OPENCODE);
  // Another wish is another job.
  const change = (part: Partial<Wish>) => setWish({ ...wish(), ...part, id: newJobId(part.kind ?? wish().kind) });
  const submit = async () => {
    if (wish().prompt.trim() === "" || isSending()) return;
    setSending(true);
    setProblem(undefined);
    try {
      const job = await handInJob(toJob(wish()));
      learnJob(job);
      setWish(nothing());
      dialog?.close();
      goTo({ page: "job", job: job.id });
    } catch (error) {
      setProblem(sentenceOf(error));
    } finally {
      setSending(false);
    }
  };
  return (
    <dialog ref={(element) => (dialog = element)} aria-labelledby={title} onClose={() => props.close()}>
      <form
        class="new-job"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h2 id={title}>{words.newJob.title}</h2>
        <p class="muted">{words.newJob.about}</p>
        <Problem lead={words.newJob.failed} sentence={problem()} />
        <Field name={words.newJob.prompt}>
          {(id) => (
            <textarea
              id={id}
              rows="4"
              class="growing"
              placeholder={words.newJob.promptHint}
              value={wish().prompt}
              onInput={(event) => change({ prompt: event.currentTarget.value })}
              onKeyDown={(event) => {
                if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
                event.preventDefault();
                void submit();
              }}
            />
          )}
        </Field>
        <div class="field-row">
          <Field name={words.newJob.kind}>
            {(id) => <Choose id={id} value={wish().kind} choices={KINDS.map((kind) => ({ value: kind, name: words.jobs.kinds[kind] }))} choose={(kind) => change({ kind })} />}
          </Field>
          <Show when={ledger().workspaces.length > 1}>
            <Field name={words.newJob.workspace}>
              {(id) => (
                <Choose
                  id={id}
                  value={wish().workspace ?? ledger().workspaces[0]?.id ?? ""}
                  choices={ledger().workspaces.map((each) => ({ value: each.id, name: each.name }))}
                  choose={(workspace) => change({ workspace })}
                />
              )}
            </Field>
          </Show>
          <Field name={words.newJob.engine}>
            {(id) => (
              <Choose
                id={id}
                value={wish().engine}
                choices={[
                  { value: "", name: words.newJob.usual },
                  ...(hasOpencode() ? [{ value: OPENCODE, name: OPENCODE }] : []),
                  ...(engines.latest ?? []).map((each) => ({ value: each.name, name: each.title })),
                ]}
                choose={(engine) => change({ engine })}
              />
            )}
          </Field>
        </div>
        <Tick name={words.newJob.worktree} hint={words.newJob.worktreeHint} is={wish().worktree} set={(worktree) => change({ worktree })} />
        <Tick name={words.newJob.readOnly} hint={words.newJob.readOnlyHint} is={wish().readOnly} set={(readOnly) => change({ readOnly })} />
        <details>
          <summary>{words.newJob.more}</summary>
          <div class="field-row">
            <Field name={words.newJob.onAsk}>
              {(id) => (
                <Choose
                  id={id}
                  value={wish().onAsk}
                  choices={ON_ASKS.filter((each) => each !== "allow" || holds("answer")).map((each) => ({ value: each, name: words.newJob.onAsks[each] }))}
                  choose={(onAsk) => change({ onAsk })}
                />
              )}
            </Field>
            <Field name={words.newJob.priority} hint={words.newJob.priorityHint}>
              {(id) => (
                <input
                  id={id}
                  type="number"
                  min="-100"
                  max="100"
                  value={wish().priority}
                  onChange={(event) => change({ priority: Math.round(event.currentTarget.valueAsNumber || 0) })}
                />
              )}
            </Field>
            <Field name={words.newJob.deadline} hint={words.newJob.deadlineHint}>
              {(id) => (
                <input
                  id={id}
                  type="number"
                  min="1"
                  value={wish().deadline ?? ""}
                  onChange={(event) => change({ deadline: event.currentTarget.value === "" ? undefined : Math.max(1, Math.round(event.currentTarget.valueAsNumber)) })}
                />
              )}
            </Field>
          </div>
        </details>
        <div class="dialog-buttons">
          <button type="button" onClick={() => dialog?.close()}>
            {words.cancel}
          </button>
          <button type="submit" class="primary" disabled={isSending() || wish().prompt.trim() === ""}>
            {words.newJob.submit}
          </button>
        </div>
      </form>
    </dialog>
  );
}

function Field(props: { name: string; hint?: string; children: (id: string) => JSX.Element }) {
  const id = createUniqueId();
  return (
    <div class="field">
      <label for={id}>{props.name}</label>
      {props.children(id)}
      <Show when={props.hint}>{(hint) => <small>{hint()}</small>}</Show>
    </div>
  );
}

function Choose<T extends string>(props: { id: string; value: T; choices: readonly { value: T; name: string }[]; choose: (value: T) => void }) {
  return (
    <select id={props.id} onChange={(event) => props.choose(event.currentTarget.value as T)}>
      <For each={props.choices}>
        {(choice) => (
          <option value={choice.value} selected={choice.value === props.value}>
            {choice.name}
          </option>
        )}
      </For>
    </select>
  );
}

function Tick(props: { name: string; hint: string; is: boolean; set: (is: boolean) => void }) {
  return (
    <label class="choice">
      <input type="checkbox" checked={props.is} onChange={(event) => props.set(event.currentTarget.checked)} />
      <span>
        {props.name}
        <small>{props.hint}</small>
      </span>
    </label>
  );
}

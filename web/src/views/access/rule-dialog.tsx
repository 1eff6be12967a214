/* Makes a rule from nothing, and shows what it would have matched before it is made. */
import { createMemo, createSignal, createUniqueId, For, onMount, Show } from "solid-js";
import { makeRule, sentenceOf } from "../../api/client.ts";
import type { NewRule, RulePreviewRequest } from "../../api/types.ts";
import { LifeChoice, secondsOf, WorkspaceChoice, type Life } from "../../parts/choices.tsx";
import { Problem } from "../../parts/problem.tsx";
import { RulePreview } from "../../parts/rule-preview.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { isShell } from "../../state/answer-request.ts";
import { ledger } from "../../state/live.ts";
import { words } from "../../text/words.ts";

const LIVES: readonly Life[] = ["hour", "day", "week", "month", "endless"];

export function RuleDialog(props: { close: () => void; made: () => void }) {
  const id = createUniqueId();
  const [workspace, setWorkspace] = createSignal(ledger().workspaces[0]?.id);
  const [verdict, setVerdict] = createSignal<"allow" | "deny">("allow");
  const [tool, setTool] = createSignal("");
  const [isLike, setLike] = createSignal(false);
  const [about, setAbout] = createSignal("");
  const [life, setLife] = createSignal<Life>("day");
  const [problem, setProblem] = createSignal<string>();
  let dialog: HTMLDialogElement | undefined;
  onMount(() => dialog?.showModal());
  const takesPattern = () => !isShell(tool().trim());
  const isPattern = () => isLike() && takesPattern();
  const rule = createMemo((): RulePreviewRequest | undefined => {
    if (tool().trim() === "" || about() === "") return undefined;
    return {
      ...(workspace() === undefined ? {} : { workspace: workspace() ?? "" }),
      tool: tool().trim(),
      ...(isPattern() ? { match: "glob", pattern: about() } : { match: "exact", targets: [about()] }),
    };
  });
  /** The tools that were asked about here, for whoever does not know what an engine calls them. */
  const tools = createMemo(() => [...new Set(Object.values(ledger().asks).flatMap(({ subject }) => (subject.kind === "permission" ? [subject.tool] : [])))].toSorted());
  const make = async () => {
    const what = rule();
    if (what === undefined) return;
    const seconds = secondsOf(life());
    try {
      await makeRule({ ...what, verdict: verdict(), ...(seconds === undefined ? {} : { expires_in_s: seconds }) } as NewRule);
      props.made();
      dialog?.close();
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  return (
    <dialog class="rule-dialog" ref={(element) => (dialog = element)} aria-labelledby={`${id}-title`} onClose={() => props.close()}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <h2 id={`${id}-title`}>{words.rules.newTitle}</h2>
        <fieldset>
          <legend>{words.rules.verdict}</legend>
          <div class="choices-row">
            <For each={["allow", "deny"] as const}>
              {(each) => (
                <label class="choice">
                  <input type="radio" name={`${id}-verdict`} checked={verdict() === each} onChange={() => setVerdict(each)} />
                  <span>{each === "allow" ? words.rules.saysAllow : words.rules.saysDeny}</span>
                </label>
              )}
            </For>
          </div>
        </fieldset>
        <WorkspaceChoice label={words.rules.workspace} workspace={workspace()} set={setWorkspace} />
        <div class="field">
          <label for={`${id}-tool`}>{words.rules.tool}</label>
          <input
            id={`${id}-tool`}
            type="text"
            class="mono"
            required
            list={`${id}-tools`}
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            value={tool()}
            aria-describedby={`${id}-tool-hint`}
            onInput={(event) => setTool(event.currentTarget.value)}
          />
          <datalist id={`${id}-tools`}>
            <For each={tools()}>{(each) => <option value={each}>{each}</option>}</For>
          </datalist>
          <small id={`${id}-tool-hint`}>
            <Sentence text={words.rules.toolHint} />
          </small>
        </div>
        <fieldset>
          <legend>{words.rules.what}</legend>
          <label class="choice">
            <input type="radio" name={`${id}-reach`} checked={!isPattern()} onChange={() => setLike(false)} />
            <span>
              {words.rules.exact}
              <small>{words.rules.exactHint}</small>
            </span>
          </label>
          <Show when={takesPattern()} fallback={<p class="muted">{words.rules.shellHint}</p>}>
            <label class="choice">
              <input type="radio" name={`${id}-reach`} checked={isPattern()} onChange={() => setLike(true)} />
              <span>
                {words.rules.pattern}
                <small>
                  <Sentence text={words.rule.patternHint} />
                </small>
              </span>
            </label>
          </Show>
          <input
            type="text"
            class="mono"
            aria-label={isPattern() ? words.rule.patternLabel : words.rules.target}
            required
            maxLength={4096}
            spellcheck={false}
            autocapitalize="off"
            autocomplete="off"
            value={about()}
            onInput={(event) => setAbout(event.currentTarget.value)}
          />
        </fieldset>
        <LifeChoice legend={words.rules.howLong} lives={LIVES} life={life()} set={setLife} />
        <Show when={rule()} fallback={<p class="muted">{words.rules.wouldBe}</p>}>
          {(known) => <RulePreview rule={known()} />}
        </Show>
        <Problem sentence={problem()} />
        <div class="dialog-buttons">
          <button type="button" onClick={() => dialog?.close()}>
            {words.cancel}
          </button>
          <button type="submit" class="primary">
            {words.rules.submit}
          </button>
        </div>
      </form>
    </dialog>
  );
}

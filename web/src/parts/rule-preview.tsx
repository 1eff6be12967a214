/* What else a rule would have matched in the last days, looked up anew whenever the rule is another. */
import { createEffect, createSignal, For, Match, on, onCleanup, Show, Switch } from "solid-js";
import { previewRule, sentenceOf } from "../api/client.ts";
import type { RulePreview as Preview, RulePreviewRequest } from "../api/types.ts";
import { ledger } from "../state/live.ts";
import { words } from "../text/words.ts";
import { Alert } from "./icons.tsx";
import { Problem } from "./problem.tsx";
import { Ago } from "./time.tsx";
import { Visible } from "./visible.tsx";

const DAYS = 7;
/** While somebody types, nothing is looked up. */
const PAUSE_MS = 250;

/** `ask` is the one that the rule is made from, if it is; `open` is told which other open asks it would match. */
export function RulePreview(props: { rule: RulePreviewRequest; ask?: string; open?: (asks: readonly string[]) => void }) {
  const [preview, setPreview] = createSignal<Preview>();
  const [problem, setProblem] = createSignal<string>();
  const key = () => JSON.stringify(props.rule);
  createEffect(
    on(key, () => {
      let isOld = false;
      const look = async () => {
        try {
          const found = await previewRule({ ...props.rule, days: DAYS });
          if (isOld) return;
          setPreview(found);
          setProblem(undefined);
          props.open?.(found.open.filter((id) => id !== props.ask && ledger().asks[id]?.may_answer !== false));
        } catch (error) {
          if (isOld) return;
          setPreview(undefined);
          setProblem(sentenceOf(error));
          props.open?.([]);
        }
      };
      const timer = setTimeout(() => void look(), PAUSE_MS);
      onCleanup(() => {
        isOld = true;
        clearTimeout(timer);
      });
    }),
  );
  // The ask itself is among what is counted, for it is open; if it is not, the rule is about something else.
  const isMatched = (found: Preview) => props.ask !== undefined && found.open.includes(props.ask);
  const others = (found: Preview) => found.count - (isMatched(found) ? 1 : 0);
  const said = () =>
    props.ask === undefined
      ? { none: words.rules.previewNone, count: words.rules.previewCount }
      : { none: words.rule.none, count: words.rule.count };
  const samples = (found: Preview) => found.samples.filter((sample) => sample.ask !== props.ask || sample.times > 1);
  return (
    <section class="rule-preview" aria-labelledby="rule-preview-title" aria-live="polite">
      <h3 id="rule-preview-title">{props.ask === undefined ? words.rules.preview : words.rule.preview}</h3>
      <Problem sentence={problem()} />
      <Switch fallback={<Show when={problem() === undefined}><p class="muted">{words.rule.looking}</p></Show>}>
        <Match when={preview()}>
          {(found) => (
            <>
              <Show when={props.ask !== undefined && !isMatched(found())}>
                <p class="note note-warning">
                  <Alert />
                  <span>{words.rule.notThis}</span>
                </p>
              </Show>
              <Show when={others(found()) > 0} fallback={<p class="muted">{said().none(DAYS, found().looked_at)}</p>}>
                <p>{said().count(others(found()), DAYS, found().looked_at)}</p>
              </Show>
              <Show when={!found().complete}>
                <p class="muted">{words.rule.incomplete}</p>
              </Show>
              <Show when={found().denied > 0}>
                <p class="note note-warning">
                  <Alert />
                  <span>{words.rule.denied(found().denied)}</span>
                </p>
              </Show>
              <ul class="rule-samples">
                <For each={samples(found())}>
                  {(sample) => (
                    <li>
                      <code>
                        <Visible text={sample.targets.join("\n")} />
                      </code>
                      <span class="muted">
                        <Show when={sample.times > 1}>{words.rule.times(sample.times)} · </Show>
                        <Ago at={sample.opened_at} />
                      </span>
                      <Show when={sample.denied}>
                        <strong class="chip chip-warning">{words.rule.deniedChip}</strong>
                      </Show>
                    </li>
                  )}
                </For>
              </ul>
            </>
          )}
        </Match>
      </Switch>
    </section>
  );
}

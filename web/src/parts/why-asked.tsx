/* Why nobody answered in a person's place: the rules there are, and what each lacked. */
import { createMemo, createResource, createSignal, For, Match, Show, Switch } from "solid-js";
import { readRules, sentenceOf } from "../api/client.ts";
import type { AskView, Rule } from "../api/types.ts";
import { whyAsked, type Miss, type Why } from "../state/why.ts";
import { visible } from "../text/visible.ts";
import { words } from "../text/words.ts";
import { Problem } from "./problem.tsx";
import { Sentence } from "./sentence.tsx";
import { Visible } from "./visible.tsx";

/** How many rules are listed; the nearest come first. */
const SHOWN = 6;

export function WhyAsked(props: { ask: AskView }) {
  const [isOpen, setOpen] = createSignal(false);
  const [rules] = createResource(
    () => (isOpen() ? props.ask.id : undefined),
    async () => {
      try {
        return { rules: await readRules() };
      } catch (error) {
        return { problem: sentenceOf(error) };
      }
    },
  );
  const why = createMemo((): Why | undefined => {
    const read = rules();
    return read !== undefined && "rules" in read && read.rules !== undefined ? whyAsked(props.ask, read.rules) : undefined;
  });
  const problem = () => {
    const read = rules();
    return read !== undefined && "problem" in read ? read.problem : undefined;
  };
  // Whoever was answered by a rule was not asked.
  const isAsked = () => props.ask.answer?.surface !== "rule";
  return (
    <Show when={isAsked()}>
      <details class="why" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{words.why.title}</summary>
        <Problem sentence={problem()} />
        <Show when={why()} fallback={<Show when={problem() === undefined}><p class="muted">{words.reading}</p></Show>}>
          {(known) => <Reason why={known()} tool={props.ask.subject.kind === "permission" ? props.ask.subject.tool : ""} />}
        </Show>
      </details>
    </Show>
  );
}

function Reason(props: { why: Why; tool: string }) {
  const misses = () => (props.why.kind === "no match" ? props.why.misses : undefined);
  const plain = (): string => {
    switch (props.why.kind) {
      case "no rule":
        return words.why["no rule"](visible(props.tool));
      case "no match":
        return words.why["no match"](props.why.misses.length, visible(props.tool));
      default:
        return words.why[props.why.kind];
    }
  };
  return (
    <>
      <p>
        <Sentence text={plain()} />
      </p>
      <Show when={misses()}>
        {(found) => (
          <>
            <ul class="why-rules">
              <For each={found().slice(0, SHOWN)}>{({ rule, miss }) => <RuleLine rule={rule} miss={miss} />}</For>
            </ul>
            <Show when={found().length > SHOWN}>
              <p class="muted">{words.why.more(found().length - SHOWN)}</p>
            </Show>
          </>
        )}
      </Show>
    </>
  );
}

function RuleLine(props: { rule: Rule; miss: Miss }) {
  return (
    <li>
      <span>
        {props.rule.verdict === "allow" ? words.why.allows : words.why.denies}{" "}
        <Switch>
          <Match when={props.rule.match === "glob" && props.rule}>
            {(glob) => (
              <>
                {words.why.like}{" "}
                <code>
                  <Visible text={"pattern" in glob() ? (glob() as { pattern: string }).pattern : ""} />
                </code>
              </>
            )}
          </Match>
          <Match when={props.rule.match === "exact" && props.rule}>
            {(exact) => (
              <>
                {words.why.exactly}{" "}
                <code>
                  <Visible text={"targets" in exact() ? (exact() as { targets: string[] }).targets.join(", ") : ""} />
                </code>
              </>
            )}
          </Match>
        </Switch>
      </span>
      <span class="muted">
        {" "}
        {words.why.misses[props.miss]} · {words.why.madeBy(visible(props.rule.made_by.name))}
      </span>
    </li>
  );
}

/* Standing answers: which there are, a new one with what it would have matched, and the end of one. */
import { createMemo, createSignal, Show, type JSX } from "solid-js";
import { expireRule, readRules, revokeRule } from "../../api/client.ts";
import type { Rule } from "../../api/types.ts";
import { LifeChoice, LIVES, secondsOf, type Life } from "../../parts/choices.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Plus } from "../../parts/icons.tsx";
import { workspaceName } from "../../parts/requester.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { Ago } from "../../parts/time.tsx";
import { Visible } from "../../parts/visible.tsx";
import { fragmentOf } from "../../router.ts";
import { now } from "../../state/clock.ts";
import { holds, me } from "../../state/identity.ts";
import { ruleChanges } from "../../state/live.ts";
import { createReading } from "../../state/reading.ts";
import { apart } from "../../state/tokens.ts";
import { words } from "../../text/words.ts";
import { End } from "./end.tsx";
import { Records } from "./records.tsx";
import { RuleDialog } from "./rule-dialog.tsx";

/** Whether the server would let us take this rule back. */
function mayChange(rule: Rule): boolean {
  return holds("administer") || (holds("answer") && rule.made_by.id === me().actor.id);
}

/** What a rule is about, in a line. */
function aboutOf(rule: Rule): string {
  return rule.match === "glob" ? rule.pattern : rule.targets.join(" ");
}

export function Rules() {
  const rules = createReading(ruleChanges, readRules);
  const [isMaking, setMaking] = createSignal(false);
  const [leaving, setLeaving] = createSignal<Rule>();
  const [ending, setEnding] = createSignal<Rule>();
  const sorted = createMemo(() => apart(rules.value() ?? [], now()));
  return (
    <Records
      id="rules-title"
      title={words.rules.title}
      about={
        <p class="muted">
          {words.rules.about} <Show when={!holds("administer")}><Sentence text={words.rules.noGrant} /></Show>
        </p>
      }
      make={
        <Show when={holds("administer")}>
          <button type="button" class="primary" aria-haspopup="dialog" onClick={() => setMaking(true)}>
            <Plus /> {words.rules.make}
          </button>
        </Show>
      }
      reading={rules}
      records={sorted()}
      none={words.rules.none}
      row={(rule, isValid) => (
        <RuleRow rule={rule}>
          <Show when={isValid && mayChange(rule)}>
            <div class="record-acts">
              <button type="button" aria-haspopup="dialog" aria-label={words.rules.expireOf(rule.tool, aboutOf(rule))} onClick={() => setEnding(rule)}>
                {words.rules.expire}
              </button>
              <button type="button" aria-haspopup="dialog" aria-label={words.rules.revokeOf(rule.tool, aboutOf(rule))} onClick={() => setLeaving(rule)}>
                {words.rules.revoke}
              </button>
            </div>
          </Show>
        </RuleRow>
      )}
    >
      <Show when={isMaking()}>
        <RuleDialog close={() => setMaking(false)} made={() => void rules.again()} />
      </Show>
      <Show when={ending()}>{(rule) => <EndDialog rule={rule()} done={() => rules.again()} close={() => setEnding(undefined)} />}</Show>
      <Show when={leaving()}>
        {(rule) => (
          <Confirm
            isDangerous
            title={words.rules.sureTitle}
            act={words.rules.revoke}
            perform={async () => {
              await revokeRule(rule().id);
              await rules.again();
            }}
            close={() => setLeaving(undefined)}
          >
            <RuleLine rule={rule()} />
            <p>{words.rules.sure}</p>
          </Confirm>
        )}
      </Show>
    </Records>
  );
}

function RuleLine(props: { rule: Rule }) {
  const targets = () => (props.rule.match === "glob" ? [props.rule.pattern] : props.rule.targets);
  const folder = () => (props.rule.match === "exact" ? props.rule.folder : undefined);
  return (
    <div class="rule-line">
      <p>
        <span class={`chip chip-${props.rule.verdict}`}>{words.rules.verdicts[props.rule.verdict]}</span>{" "}
        <code>
          <Visible text={props.rule.tool} />
        </code>{" "}
        <span class="muted">{props.rule.match === "glob" ? words.rules.like : words.rules.exactly}</span>
        <Show when={folder()}>
          {(path) => (
            <>
              {" "}
              <span class="muted">{words.rules.inFolder}</span>{" "}
              <code>
                <Visible text={path()} />
              </code>
            </>
          )}
        </Show>
      </p>
      <pre class="rule-about">
        <Visible text={targets().join("\n")} />
      </pre>
    </div>
  );
}

function RuleRow(props: { rule: Rule; children: JSX.Element }) {
  return (
    <li class="record" data-rule={props.rule.id}>
      <div class="record-body">
        <RuleLine rule={props.rule} />
        <p class="record-facts">
          <span>
            <Show when={props.rule.session !== undefined}>{words.rules.session} </Show>
            <Visible text={workspaceName(props.rule.workspace)} />
          </span>
          <span>
            {words.access.made} <Ago at={props.rule.made_at} /> <Visible text={words.access.by(props.rule.made_by.name)} />
          </span>
          <Show when={props.rule.made_from}>
            {(ask) => (
              <span>
                <a href={fragmentOf({ page: "history", ask: ask() })}>{words.rules.fromAsk}</a>
              </span>
            )}
          </Show>
          <End of={props.rule} />
        </p>
      </div>
      {props.children}
    </li>
  );
}

/** Has a rule end sooner than it would. */
function EndDialog(props: { rule: Rule; done: () => Promise<void>; close: () => void }) {
  const left = () => (props.rule.expires_at === undefined ? Infinity : (Date.parse(props.rule.expires_at) - now()) / 1000);
  const lives = LIVES.filter(({ seconds }) => seconds !== undefined && seconds < left()).map(({ name }) => name);
  const [life, setLife] = createSignal<Life>(lives[0] ?? "hour");
  return (
    <Confirm
      isDangerous
      title={words.rules.expireTitle}
      act={words.rules.expireSubmit}
      perform={async () => {
        await expireRule(props.rule.id, secondsOf(life()) ?? 0);
        await props.done();
      }}
      close={() => props.close()}
    >
      <RuleLine rule={props.rule} />
      <p class="muted">{words.rules.expireAbout}</p>
      <LifeChoice legend={words.rules.howLong} lives={lives} life={life()} set={setLife} />
    </Confirm>
  );
}

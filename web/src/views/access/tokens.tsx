/* Tokens for programs: which there are, a new one, and the end of one. */
import { createMemo, createSignal, createUniqueId, onMount, Show } from "solid-js";
import { makeToken, readTokens, revokeToken, sentenceOf } from "../../api/client.ts";
import type { Role, Token, TokenMade } from "../../api/types.ts";
import { LifeChoice, NameField, RoleChoice, secondsOf, WorkspaceChoice, type Life } from "../../parts/choices.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { CopyField } from "../../parts/copy-field.tsx";
import { Plus } from "../../parts/icons.tsx";
import { Problem } from "../../parts/problem.tsx";
import { workspaceName } from "../../parts/requester.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { Ago } from "../../parts/time.tsx";
import { Visible } from "../../parts/visible.tsx";
import { now } from "../../state/clock.ts";
import { holds } from "../../state/identity.ts";
import { createReading } from "../../state/reading.ts";
import { ROLES } from "../../state/roles.ts";
import { tokensOf } from "../../state/tokens.ts";
import { words } from "../../text/words.ts";
import { End } from "./end.tsx";
import { Records } from "./records.tsx";
import { RoleChip } from "./roles.tsx";

export function Tokens() {
  return (
    <Show
      when={holds("administer")}
      fallback={
        <section class="records" aria-labelledby="tokens-title">
          <h2 id="tokens-title">{words.tokens.title}</h2>
          <p class="muted">
            <Sentence text={words.access.missing} />
          </p>
        </section>
      }
    >
      <TokenList />
    </Show>
  );
}

function TokenList() {
  const tokens = createReading(() => undefined, readTokens);
  const [isMaking, setMaking] = createSignal(false);
  const [leaving, setLeaving] = createSignal<Token>();
  const sorted = createMemo(() => tokensOf(tokens.value() ?? [], "bearer", now()));
  const revoke = async (token: Token) => {
    await revokeToken(token.id);
    await tokens.again();
  };
  return (
    <Records
      id="tokens-title"
      title={words.tokens.title}
      about={<p class="muted">{words.tokens.about}</p>}
      make={
        <button type="button" class="primary" aria-haspopup="dialog" onClick={() => setMaking(true)}>
          <Plus /> {words.tokens.make}
        </button>
      }
      reading={tokens}
      records={sorted()}
      none={words.tokens.none}
      row={(token, isValid) => <TokenRow token={token} revoke={isValid ? () => setLeaving(token) : undefined} />}
    >
      <Show when={isMaking()}>
        <TokenDialog close={() => setMaking(false)} made={() => void tokens.again()} />
      </Show>
      <Show when={leaving()}>
        {(token) => (
          <Confirm isDangerous title={words.tokens.sureTitle} act={words.tokens.revoke} perform={() => revoke(token())} close={() => setLeaving(undefined)}>
            <p>
              <Visible text={words.tokens.sure(token().name)} />
            </p>
          </Confirm>
        )}
      </Show>
    </Records>
  );
}

/** Without a way to revoke it is one that is over. */
function TokenRow(props: { token: Token; revoke: (() => void) | undefined }) {
  return (
    <li class="record" data-token={props.token.id}>
      <div class="record-body">
        <p class="record-name">
          <strong>
            <Visible text={props.token.name} />
          </strong>
        </p>
        <p class="record-chips">
          <RoleChip grants={props.token.grants} />
          <span class="chip">
            <Show when={props.token.workspace} fallback={words.access.everywhere}>
              {(workspace) => <Visible text={workspaceName(workspace())} />}
            </Show>
          </span>
        </p>
        <p class="record-facts">
          <span>
            {words.access.made} <Ago at={props.token.made_at} />
          </span>
          <Show when={props.token.seen_at} fallback={<span>{words.tokens.unused}</span>}>
            {(at) => (
              <span>
                {words.tokens.used} <Ago at={at()} />
              </span>
            )}
          </Show>
          <End of={props.token} />
        </p>
      </div>
      <Show when={props.revoke}>
        {(revoke) => (
          <button type="button" class="record-act" aria-haspopup="dialog" aria-label={words.tokens.revokeOf(props.token.name)} onClick={() => revoke()()}>
            {words.tokens.revoke}
          </button>
        )}
      </Show>
    </li>
  );
}

const LIVES: readonly Life[] = ["day", "week", "month", "season", "year"];

function TokenDialog(props: { close: () => void; made: () => void }) {
  const title = createUniqueId();
  const [name, setName] = createSignal("");
  const [role, setRole] = createSignal<Role>("viewer");
  const [workspace, setWorkspace] = createSignal<string>();
  const [life, setLife] = createSignal<Life>("season");
  const [made, setMade] = createSignal<TokenMade>();
  const [problem, setProblem] = createSignal<string>();
  let dialog: HTMLDialogElement | undefined;
  onMount(() => dialog?.showModal());
  const make = async () => {
    try {
      setMade(
        await makeToken({
          name: name().trim(),
          role: role(),
          ...(workspace() === undefined ? {} : { workspace: workspace() ?? "" }),
          ...(secondsOf(life()) === undefined ? {} : { expires_in_s: secondsOf(life()) ?? 0 }),
        }),
      );
      props.made();
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  return (
    <dialog
      ref={(element) => (dialog = element)}
      aria-labelledby={title}
      // What is shown once does not go by a slip of the hand.
      onCancel={(event) => made() !== undefined && event.preventDefault()}
      onClose={() => props.close()}
    >
      <Show
        when={made()}
        fallback={
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void make();
            }}
          >
            <h2 id={title}>{words.tokens.newTitle}</h2>
            <NameField label={words.tokens.name} hint={words.tokens.nameHint} name={name()} set={setName} />
            <RoleChoice legend={words.tokens.role} roles={ROLES} role={role()} set={setRole} />
            <WorkspaceChoice label={words.tokens.workspace} all={words.ledger.allWorkspaces} workspace={workspace()} set={setWorkspace} />
            <LifeChoice legend={words.tokens.howLong} lives={LIVES} life={life()} set={setLife} />
            <Problem sentence={problem()} />
            <div class="dialog-buttons">
              <button type="button" onClick={() => dialog?.close()}>
                {words.cancel}
              </button>
              <button type="submit" class="primary">
                {words.tokens.submit}
              </button>
            </div>
          </form>
        }
      >
        {(known) => (
          <form method="dialog">
            <h2 id={title}>{words.tokens.madeTitle}</h2>
            <p>{words.tokens.madeAbout}</p>
            <CopyField label={words.tokens.secret} text={known().secret} />
            <div class="dialog-buttons">
              <button type="submit" class="primary">
                {words.tokens.kept}
              </button>
            </div>
          </form>
        )}
      </Show>
    </dialog>
  );
}

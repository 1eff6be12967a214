/* One workspace: its engine, what it holds for its agents, and what waits for approval there. */
import { createEffect, createMemo, createSignal, For, Match, Show, Switch } from "solid-js";
import { reloadEngine, removeWorkspace, renameWorkspace, restartEngine } from "../api/client.ts";
import type { Holdings, McpView, WorkspaceView } from "../api/types.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Commands } from "../parts/holdings/commands.tsx";
import { ConfigEditor } from "../parts/holdings/config-editor.tsx";
import { Exchange } from "../parts/holdings/exchange.tsx";
import { TextField } from "../parts/holdings/form.tsx";
import { McpServers } from "../parts/holdings/mcp.tsx";
import { Plugins } from "../parts/holdings/plugins.tsx";
import { Skills } from "../parts/holdings/skills.tsx";
import { Alert, Clock } from "../parts/icons.tsx";
import { Problem } from "../parts/problem.tsx";
import { Sentence } from "../parts/sentence.tsx";
import { Visible } from "../parts/visible.tsx";
import { fragmentOf, goTo, HOLDINGS_PARTS, route, type HoldingsPart } from "../router.ts";
import { createHoldings } from "../state/holdings.ts";
import { holds, me } from "../state/identity.ts";
import { openAsks } from "../state/ledger.ts";
import { isLoaded, ledger, learnWorkspaces } from "../state/live.ts";
import { words } from "../text/words.ts";

/** Brings the part that is shown into sight where there is no room for all of their names. */
function keepInSight(link: HTMLElement, isShown: () => boolean): void {
  createEffect(() => {
    if (isShown()) requestAnimationFrame(() => link.scrollIntoView({ block: "nearest", inline: "nearest" }));
  });
}

export function Workspace(props: { id: string }) {
  const workspace = createMemo(() => ledger().workspaces.find(({ id }) => id === props.id));
  return (
    <Show
      when={workspace()}
      fallback={<p class="quiet-note muted">{isLoaded() ? words.workspaces.missing : words.reading}</p>}
    >
      {(known) => <Known workspace={known()} />}
    </Show>
  );
}

function Known(props: { workspace: WorkspaceView }) {
  const { holdings, problem } = createHoldings(() => props.workspace.id);
  const part = createMemo<HoldingsPart>(() => {
    const at = route();
    return at.page === "workspace" ? at.part : "config";
  });
  const mayWrite = () => holds("propose") && holdings()?.writes.mode !== "read_only";
  return (
    <article class="workspace">
      <Head workspace={props.workspace} />
      <Proposals workspace={props.workspace.id} />
      <nav class="parts" aria-label={words.workspaces.partsLabel}>
        <For each={HOLDINGS_PARTS}>
          {(each) => (
            <a
              href={fragmentOf({ page: "workspace", workspace: props.workspace.id, part: each })}
              aria-current={part() === each ? "page" : undefined}
              ref={(link) => keepInSight(link, () => part() === each)}
            >
              {words.workspaces.parts[each]}
              <Show when={countIn(holdings(), each)}>{(count) => <span class="parts-count">{count()}</span>}</Show>
            </a>
          )}
        </For>
      </nav>
      <Problem sentence={problem()} />
      <Show when={holdings()} fallback={<Show when={problem() === undefined}><p class="muted">{words.reading}</p></Show>}>
        {(held) => (
          <>
            <Switch>
              <Match when={part() === "config"}>
                <ConfigEditor workspace={props.workspace.id} holdings={held()} mayWrite={mayWrite()} />
              </Match>
              <Match when={part() === "skills"}>
                <Skills workspace={props.workspace.id} skills={held().skills} mayWrite={mayWrite()} />
              </Match>
              <Match when={part() === "commands"}>
                <Commands workspace={props.workspace.id} commands={held().commands} mayWrite={mayWrite()} />
              </Match>
              <Match when={needsConfig(part()) && held().config.problems.length > 0}>
                <p class="note note-warning">
                  <Alert />
                  <span>{words.holdings.unreadable}</span>
                </p>
              </Match>
              <Match when={part() === "plugins"}>
                <Plugins workspace={props.workspace.id} plugins={held().plugins} mayWrite={mayWrite()} />
              </Match>
              <Match when={part() === "mcp"}>
                <McpServers
                  workspace={props.workspace.id}
                  servers={held().mcp as unknown as McpView[]}
                  digest={held().config.digest ?? "none"}
                  mayWrite={mayWrite()}
                />
              </Match>
              <Match when={part() === "exchange"}>
                <Exchange workspace={props.workspace.id} name={props.workspace.name} mayWrite={mayWrite()} />
              </Match>
            </Switch>
            <Manner holdings={held()} />
          </>
        )}
      </Show>
    </article>
  );
}

/** What is read from the configuration cannot be shown if that cannot be read. */
function needsConfig(part: HoldingsPart): boolean {
  return part === "plugins" || part === "mcp" || part === "exchange";
}

function countIn(holdings: Holdings | undefined, part: HoldingsPart): number | undefined {
  if (holdings === undefined || part === "config" || part === "exchange") return undefined;
  return holdings[part].length;
}

/** Says how changes are made here, and why. */
function Manner(props: { holdings: Holdings }) {
  const writes = () => props.holdings.writes;
  const sentences = (): string[] => {
    if (writes().mode === "read_only") return [words.holdings.readOnly];
    if (!holds("propose")) return [words.holdings.mayNot];
    if (!writes().asked) return [words.holdings.auto];
    return holds("approve") ? [words.holdings.asked, words.holdings.askedAlone] : [words.holdings.asked];
  };
  return (
    <p class="manner muted">
      <For each={sentences()}>
        {(sentence) => (
          <>
            <Sentence text={sentence} />{" "}
          </>
        )}
      </For>
    </p>
  );
}

/** The changes that wait until somebody answers. */
function Proposals(props: { workspace: string }) {
  const open = createMemo(() => openAsks(ledger()).filter((ask) => ask.door === "workspace" && ask.workspace === props.workspace));
  return (
    <Show when={open().length > 0}>
      <section class="note note-warning" aria-label={words.workspaces.proposals}>
        <Clock />
        <div class="note-text">
          <strong>{words.workspaces.proposals}</strong>
          <ul>
            <For each={open()}>
              {(ask) => (
                <li>
                  <a href={fragmentOf({ page: "ask", ask: ask.id })}>
                    <Visible text={ask.summary} />
                  </a>{" "}
                  · <Visible text={ask.requester} />
                </li>
              )}
            </For>
          </ul>
        </div>
      </section>
    </Show>
  );
}

type Asked = "rename" | "remove" | "restart" | "reload";

function Head(props: { workspace: WorkspaceView }) {
  const [asked, setAsked] = createSignal<Asked>();
  const [said, setSaid] = createSignal<string>();
  const engine = () => props.workspace.engine;
  const close = () => setAsked(undefined);
  const is = (act: Asked) => asked() === act;
  const [name, setName] = createSignal("");
  const hasEngine = () => engine().program !== "none";
  // How much had been written here when the engine last read it, as far as this page knows.
  const writes = () => ledger().written[props.workspace.id] ?? 0;
  const [writesRead, setWritesRead] = createSignal(writes());
  return (
    <header class="workspace-head">
      <div>
        <h2>
          <Visible text={props.workspace.name} />
        </h2>
        <p class="path muted">
          <Visible text={props.workspace.path} />
        </p>
      </div>
      <div class="workspace-engine">
        <Show when={hasEngine()}>
          <p>
            <span class={`dot dot-${engine().state}`} aria-hidden="true" /> <Visible text={engine().program} />
            <Show when={engine().version}>{(version) => <> {version()}</>}</Show> {words.engines.states[engine().state]}
          </p>
        </Show>
        <Show when={engine().state !== "ready" && engine().message !== ""}>
          <p class="muted">
            <Sentence text={engine().message} />
          </p>
        </Show>
        <Show when={hasEngine() && writes() > writesRead()}>
          <output class="muted">{words.workspaces.outdated}</output>
        </Show>
        <Show when={said()}>
          {(sentence) => (
            <output class="muted">{sentence()}</output>
          )}
        </Show>
      </div>
      <Show when={holds("administer")} fallback={<p class="muted"><Sentence text={words.workspaces.elsewhere} /></p>}>
        <div class="workspace-acts">
          <Show when={hasEngine()}>
            <button type="button" onClick={() => setAsked("reload")}>
              {words.workspaces.reload}
            </button>
            <button type="button" onClick={() => setAsked("restart")}>
              {words.workspaces.restart}
            </button>
          </Show>
          <button
            type="button"
            onClick={() => {
              setName(props.workspace.name);
              setAsked("rename");
            }}
          >
            {words.workspaces.rename}
          </button>
          <Show when={me().workspace === undefined}>
            <button type="button" class="danger" onClick={() => setAsked("remove")}>
              {words.workspaces.remove}
            </button>
          </Show>
        </div>
      </Show>
      <Show when={is("rename")}>
        <Confirm
          title={words.workspaces.renameTitle(props.workspace.name)}
          act={words.workspaces.rename}
          perform={async () => {
            await renameWorkspace(props.workspace.id, name());
            learnWorkspaces();
          }}
          close={close}
        >
          <TextField label={words.workspaces.name} value={name()} write={setName} isRequired />
        </Confirm>
      </Show>
      <Show when={is("reload")}>
        <Confirm
          title={words.workspaces.reloadTitle}
          act={words.workspaces.reload}
          perform={async () => {
            await reloadEngine(props.workspace.id);
            setWritesRead(writes());
            setSaid(words.workspaces.reloaded);
          }}
          close={close}
        >
          <p>{words.workspaces.reloadSays}</p>
          <WhatFalls workspace={props.workspace.id} />
        </Confirm>
      </Show>
      <Show when={is("restart")}>
        <Confirm
          title={words.workspaces.restartTitle}
          act={words.workspaces.restart}
          perform={async () => {
            await restartEngine(props.workspace.id);
            setWritesRead(writes());
            setSaid(words.workspaces.restarting);
          }}
          close={close}
        >
          <p>{words.workspaces.restartSays}</p>
          <WhatFalls workspace={props.workspace.id} />
        </Confirm>
      </Show>
      <Show when={is("remove")}>
        <Confirm
          title={words.workspaces.removeTitle(props.workspace.name)}
          act={words.workspaces.remove}
          isDangerous
          perform={async () => {
            await removeWorkspace(props.workspace.id);
            learnWorkspaces();
            goTo({ page: "workspaces" });
          }}
          close={close}
        >
          <p>{words.workspaces.removeSays}</p>
          <p class="muted">{words.workspaces.removeNamed}</p>
          <WhatFalls workspace={props.workspace.id} />
        </Confirm>
      </Show>
    </header>
  );
}

/** What would end with the engine. */
function WhatFalls(props: { workspace: string }) {
  const asks = () => openAsks(ledger()).filter((ask) => ask.workspace === props.workspace && ask.door !== "workspace").length;
  const busy = () => Object.values(ledger().sessions).filter(({ workspace, activity }) => workspace === props.workspace && activity === "busy").length;
  return (
    <Show when={asks() + busy() > 0}>
      <p class="note note-warning">
        <Alert />
        <span>
          <Show when={busy() > 0}>{words.workspaces.busy(busy())} </Show>
          <Show when={asks() > 0}>{words.workspaces.asksFall(asks())}</Show>
        </span>
      </p>
    </Show>
  );
}

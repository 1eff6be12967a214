/* The chains of the audit: how long each is, how it was found last, and the way to follow them all again. */
import { createSignal, For, Match, Show, Switch } from "solid-js";
import { readChains, sentenceOf, verifyAudit } from "../../api/client.ts";
import type { ChainView } from "../../api/types.ts";
import { Alert, Check, Shield } from "../../parts/icons.tsx";
import { Problem } from "../../parts/problem.tsx";
import { Ago } from "../../parts/time.tsx";
import { Visible } from "../../parts/visible.tsx";
import { holds } from "../../state/identity.ts";
import { ledger } from "../../state/live.ts";
import { createReading, type Reading } from "../../state/reading.ts";
import { words } from "../../text/words.ts";

/** What a chain is called: its workspace's name, or the server's own. */
export function chainName(workspace: string): string {
  return ledger().workspaces.find(({ id }) => id === workspace)?.name ?? (/^ws_0+$/.test(workspace) ? words.ledger.server : workspace);
}

export function createChains(): Reading<ChainView[]> {
  return createReading(() => undefined, readChains);
}

export function Chains(props: { chains: Reading<ChainView[]> }) {
  const [isFollowing, setFollowing] = createSignal(false);
  const [said, setSaid] = createSignal("");
  const [problem, setProblem] = createSignal<string>();
  const verify = async () => {
    if (isFollowing()) return;
    setFollowing(true);
    setProblem(undefined);
    setSaid("");
    try {
      await verifyAudit();
      await props.chains.again();
      setSaid(words.chains.done(props.chains.value()?.length ?? 0));
    } catch (error) {
      setProblem(sentenceOf(error));
    } finally {
      setFollowing(false);
    }
  };
  return (
    <section class="records" aria-labelledby="chains-title">
      <div class="records-head">
        <h2 id="chains-title">{words.chains.title}</h2>
        <Show when={holds("administer")}>
          <button type="button" aria-disabled={isFollowing()} onClick={() => void verify()}>
            <Shield /> {isFollowing() ? words.chains.verifying : words.chains.verify}
          </button>
        </Show>
      </div>
      <p class="muted">{words.chains.about}</p>
      <Problem sentence={problem() ?? props.chains.problem()} />
      <ul class="record-list chain-list">
        <For each={props.chains.value() ?? []}>{(chain) => <Chain chain={chain} />}</For>
      </ul>
      <output class="unseen">{said()}</output>
    </section>
  );
}

function Chain(props: { chain: ChainView }) {
  const found = () => props.chain.verified;
  const later = () => props.chain.entries - (found()?.entries ?? 0);
  return (
    <li class="record chain" data-whole={found()?.whole}>
      <span class="record-icon">
        <Switch fallback={<Shield />}>
          <Match when={found()?.whole === true}>
            <Check />
          </Match>
          <Match when={found()?.whole === false}>
            <Alert />
          </Match>
        </Switch>
      </span>
      <div class="record-body">
        <p class="record-name">
          <strong>
            <Visible text={chainName(props.chain.workspace)} />
          </strong>{" "}
          <span class="muted">{words.chains.entries(props.chain.entries)}</span>
        </p>
        <Show when={found()} fallback={<p class="record-facts">{words.chains.unknown}</p>}>
          {(known) => (
            <p class="record-facts">
              <strong class={known().whole ? "chain-whole" : "chain-broken"}>{known().whole ? words.chains.whole : words.chains.broken}</strong>
              <Show when={known().broken}>
                {(how) => (
                  <span>
                    <Visible text={how()} />
                  </span>
                )}
              </Show>
              <span>
                {words.chains.verified} <Ago at={known().at} />
              </span>
              <Show when={known().whole && later() > 0}>
                <span>{words.chains.since(later())}</span>
              </Show>
            </p>
          )}
        </Show>
      </div>
    </li>
  );
}

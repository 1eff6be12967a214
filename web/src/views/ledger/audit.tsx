/* The audit: whether its chains are whole, and a search through what was done. */
import { createEffect, createMemo, createSignal, createUniqueId, For, on, onCleanup, Show } from "solid-js";
import { searchAudit, sentenceOf } from "../../api/client.ts";
import type { AuditEntry } from "../../api/types.ts";
import { Search } from "../../parts/icons.tsx";
import { Problem } from "../../parts/problem.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { At } from "../../parts/time.tsx";
import { Visible } from "../../parts/visible.tsx";
import { ANYTHING, searchOf, type AuditWish } from "../../state/audit-search.ts";
import { holds } from "../../state/identity.ts";
import { deedOf, doerOf, placeOfSubject } from "../../text/audit.ts";
import { words } from "../../text/words.ts";
import { chainName, Chains, createChains } from "./chains.tsx";

const PAGE = 50;
/** While somebody types, nothing is looked for. */
const PAUSE_MS = 250;

export function Audit() {
  const chains = createChains();
  return (
    <div class="audit">
      <Chains chains={chains} />
      <section class="records" aria-labelledby="audit-title">
        <h2 id="audit-title">{words.audit.title}</h2>
        <Show
          when={holds("administer")}
          fallback={
            <p class="muted">
              <Sentence text={words.audit.missing} />
            </p>
          }
        >
          <Entries chains={(chains.value() ?? []).map(({ workspace }) => workspace)} />
        </Show>
      </section>
    </div>
  );
}

function Entries(props: { chains: readonly string[] }) {
  const [wish, setWish] = createSignal(ANYTHING);
  const [entries, setEntries] = createSignal<readonly AuditEntry[]>([]);
  const [next, setNext] = createSignal<number>();
  const [looked, setLooked] = createSignal(0);
  const [isReading, setReading] = createSignal(true);
  const [problem, setProblem] = createSignal<string>();
  const isNarrowed = () => JSON.stringify({ ...wish(), chain: undefined }) !== JSON.stringify(ANYTHING);
  // The newest workspace's chain is of more interest than the server's own, which sorts first.
  const ordered = createMemo(() => props.chains.toSorted((a, b) => Number(/^ws_0+$/.test(a)) - Number(/^ws_0+$/.test(b))));
  const chain = () => wish().chain ?? ordered()[0];
  let newest = 0;
  const read = async (before: number | undefined) => {
    newest += 1;
    const own = newest;
    setReading(true);
    setProblem(undefined);
    try {
      const found = await searchAudit({ ...searchOf({ ...wish(), chain: chain() }), limit: PAGE, before });
      if (own !== newest) return;
      setEntries(before === undefined ? found.entries : [...entries(), ...found.entries]);
      setLooked((before === undefined ? 0 : looked()) + found.looked_at);
      setNext(found.next);
    } catch (error) {
      if (own === newest) setProblem(sentenceOf(error));
    } finally {
      if (own === newest) setReading(false);
    }
  };
  createEffect(
    on([wish, chain], () => {
      if (chain() === undefined) return;
      const timer = setTimeout(() => void read(undefined), PAUSE_MS);
      onCleanup(() => clearTimeout(timer));
    }),
  );
  const change = (part: Partial<AuditWish>) => setWish({ ...wish(), ...part });
  return (
    <>
      <AuditTools wish={wish()} chains={ordered()} chain={chain()} change={change} isNarrowed={isNarrowed()} clear={() => setWish({ ...ANYTHING, chain: wish().chain })} />
      <Problem sentence={problem()} />
      <ol class="entries" aria-busy={isReading()}>
        <For
          each={entries()}
          fallback={
            <Show when={!isReading() && problem() === undefined}>
              <li class="rows-empty">{isNarrowed() ? words.audit.none : words.audit.nothing}</li>
            </Show>
          }
        >
          {(entry) => <Entry entry={entry} />}
        </For>
      </ol>
      <p class="entries-foot muted">
        <output>{words.audit.looked(looked())}</output>
        <Show when={next()} fallback={<Show when={!isReading() && !isNarrowed()}><span>{words.audit.end}</span></Show>}>
          {(before) => (
            <button type="button" aria-disabled={isReading()} onClick={() => isReading() || void read(before())}>
              {isReading() ? words.audit.reading : words.audit.more}
            </button>
          )}
        </Show>
      </p>
    </>
  );
}

function AuditTools(props: {
  wish: AuditWish;
  chains: readonly string[];
  chain: string | undefined;
  change: (part: Partial<AuditWish>) => void;
  isNarrowed: boolean;
  clear: () => void;
}) {
  const id = createUniqueId();
  const deeds = Object.entries(words.audit.families);
  return (
    <search class="audit-tools">
      <label class="filter-search">
        <Search />
        <input
          type="search"
          aria-label={words.audit.search}
          placeholder={words.audit.hint}
          autocomplete="off"
          spellcheck={false}
          value={props.wish.text}
          onInput={(event) => props.change({ text: event.currentTarget.value })}
        />
      </label>
      <div class="audit-facets">
        <div class="field">
          <label for={`${id}-chain`}>{words.audit.chain}</label>
          <select id={`${id}-chain`} onChange={(event) => props.change({ chain: event.currentTarget.value })}>
            <For each={props.chains}>
              {(chain) => (
                <option value={chain} selected={props.chain === chain}>
                  {chainName(chain)}
                </option>
              )}
            </For>
          </select>
        </div>
        <div class="field">
          <label for={`${id}-deed`}>{words.audit.deed}</label>
          <select id={`${id}-deed`} onChange={(event) => props.change({ deed: event.currentTarget.value })}>
            <option value="" selected={props.wish.deed === ""}>
              {words.audit.everyDeed}
            </option>
            <For each={deeds}>
              {([family, name]) => (
                <optgroup label={name}>
                  <option value={family} selected={props.wish.deed === family}>
                    {name}
                  </option>
                  <For each={Object.entries(words.audit.deeds).filter(([deed]) => deed.startsWith(`${family}.`))}>
                    {([deed, said]) => (
                      <option value={deed} selected={props.wish.deed === deed}>
                        {said}
                      </option>
                    )}
                  </For>
                </optgroup>
              )}
            </For>
          </select>
        </div>
        <div class="field">
          <label for={`${id}-actor`}>{words.audit.actor}</label>
          <input id={`${id}-actor`} type="text" autocomplete="off" placeholder={words.audit.actorHint} value={props.wish.actor} onInput={(event) => props.change({ actor: event.currentTarget.value })} />
        </div>
        <div class="field">
          <label for={`${id}-from`}>{words.audit.from}</label>
          <input id={`${id}-from`} type="date" max={props.wish.to} value={props.wish.from} onInput={(event) => props.change({ from: event.currentTarget.value })} />
        </div>
        <div class="field">
          <label for={`${id}-to`}>{words.audit.to}</label>
          <input id={`${id}-to`} type="date" min={props.wish.from} value={props.wish.to} onInput={(event) => props.change({ to: event.currentTarget.value })} />
        </div>
        <Show when={props.isNarrowed}>
          <button type="button" class="quiet" onClick={() => props.clear()}>
            {words.audit.clear}
          </button>
        </Show>
      </div>
    </search>
  );
}

function Entry(props: { entry: AuditEntry }) {
  const doer = () => doerOf(props.entry.actor);
  const place = () => placeOfSubject(props.entry.subject);
  return (
    <li class="entry" data-seq={props.entry.seq}>
      <details>
        <summary>
          <span class="entry-time">
            <At at={props.entry.at} />
          </span>
          <span class="entry-deed">
            <strong>
              <Visible text={doer().name} />
            </strong>{" "}
            <Visible text={deedOf(props.entry.action)} />
          </span>
          <span class="entry-subject muted">
            <Visible text={props.entry.subject} />
          </span>
        </summary>
        <dl class="entry-whole">
          <dt>{words.audit.place}</dt>
          <dd>{props.entry.seq}</dd>
          <dt>{words.audit.deed}</dt>
          <dd>
            <code>
              <Visible text={props.entry.action} />
            </code>{" "}
            <Show when={place()} fallback={<Visible text={props.entry.subject} />}>
              {(href) => (
                <a href={href()}>
                  <Visible text={props.entry.subject} />
                </a>
              )}
            </Show>
          </dd>
          <dt>{words.audit.actor}</dt>
          <dd>
            <Visible text={props.entry.actor} />
          </dd>
          <dt>{words.audit.detail}</dt>
          <dd>
            <pre class="code">
              <Visible text={JSON.stringify(props.entry.detail, null, 2)} />
            </pre>
          </dd>
          <dt>{words.audit.hash}</dt>
          <dd class="entry-hash">{props.entry.hash}</dd>
          <dt>{words.audit.previous}</dt>
          <dd class="entry-hash">{props.entry.previous}</dd>
        </dl>
      </details>
    </li>
  );
}

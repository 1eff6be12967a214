/* Looks for words: in the titles that are known at once, and in every transcript when somebody wants that. */
import { createEffect, createMemo, createSignal, For, on, onCleanup, Show } from "solid-js";
import { search, sentenceOf } from "../api/client.ts";
import type { SearchHit, SearchResult } from "../api/types.ts";
import { fragmentOf } from "../router.ts";
import { words } from "../text/words.ts";
import { Problem } from "./problem.tsx";
import { workspaceName } from "./requester.tsx";
import { SearchField } from "./search-field.tsx";
import { Ago } from "./time.tsx";
import { Visible } from "./visible.tsx";

/** While somebody types, nobody is asked; a moment after, the server is. */
const PAUSE_MS = 300;

export function SessionSearch(props: { text: string; write: (text: string) => void }) {
  return (
    <search class="filter">
      <SearchField label={words.search.label} hint={words.search.hint} text={props.text} write={props.write} />
    </search>
  );
}

/** What was said that holds the words, the newest first. */
export function Findings(props: { text: string; current: { session: string; item?: number } | undefined }) {
  const [found, setFound] = createSignal<SearchResult>();
  const [problem, setProblem] = createSignal<string>();
  const [isLooking, setLooking] = createSignal(false);
  let wanted = 0;

  const look = async (text: string, before?: string) => {
    wanted += 1;
    const mine = wanted;
    setLooking(true);
    setProblem(undefined);
    try {
      const more = await search(text, before);
      if (mine !== wanted) return;
      const known = before === undefined ? undefined : found();
      setFound({ ...more, hits: [...(known?.hits ?? []), ...more.hits], looked_at: more.looked_at + (known?.looked_at ?? 0) });
    } catch (error) {
      if (mine === wanted) setProblem(sentenceOf(error));
    } finally {
      if (mine === wanted) setLooking(false);
    }
  };
  createEffect(
    on(
      () => props.text.trim(),
      (text) => {
        const timer = setTimeout(() => void look(text), PAUSE_MS);
        onCleanup(() => clearTimeout(timer));
        setFound(undefined);
        setLooking(true);
      },
    ),
  );
  const sentence = createMemo(() => {
    const known = found();
    if (known === undefined) return isLooking() ? words.search.looking : "";
    return words.search.found(known.hits.length, known.looked_at, known.complete);
  });
  return (
    <section aria-labelledby="findings-title">
      <h2 id="findings-title" class="list-title">
        {words.search.title}
      </h2>
      <Problem sentence={problem()} />
      <p class="findings-count" aria-live="polite">
        {sentence()}
      </p>
      <ul class="rows">
        <For each={found()?.hits ?? []}>{(hit) => <Finding hit={hit} isCurrent={props.current?.session === hit.session && props.current.item === hit.seq} />}</For>
      </ul>
      <Show when={found()?.next}>
        {(next) => (
          <button type="button" class="more-button" disabled={isLooking()} onClick={() => void look(props.text.trim(), next())}>
            {words.search.further}
          </button>
        )}
      </Show>
    </section>
  );
}

function Finding(props: { hit: SearchHit; isCurrent: boolean }) {
  return (
    <li class="row" classList={{ "row-current": props.isCurrent }}>
      <a href={fragmentOf({ page: "session", session: props.hit.session, item: props.hit.seq })} aria-current={props.isCurrent ? "true" : undefined}>
        <span class="row-head">
          <span class="row-who">
            <Visible text={props.hit.title === "" ? words.sessions.untitled : props.hit.title} />
          </span>
          <span class="row-time">
            <Ago at={props.hit.at} />
          </span>
        </span>
        <span class="finding">
          <Visible text={props.hit.before} />
          <mark>
            <Visible text={props.hit.matched} />
          </mark>
          <Visible text={props.hit.after} />
        </span>
        <span class="row-standing">
          {words.search.kinds[props.hit.kind]} · {workspaceName(props.hit.workspace)}
        </span>
      </a>
    </li>
  );
}

/* Above a list of asks: which list it is, a search, and what it is narrowed down to. */
import { createUniqueId, For, Show, type JSX } from "solid-js";
import type { AskView } from "../api/types.ts";
import { fragmentOf } from "../router.ts";
import { EVERYTHING, FACETS, isEverything, nameOf, offersOf, type Facet, type Filter } from "../state/filtering.ts";
import { ledger } from "../state/live.ts";
import { words } from "../text/words.ts";
import { Cross, Funnel } from "./icons.tsx";
import { SearchField } from "./search-field.tsx";

/** Leads from the asks that wait to those that were settled, and back. */
export function ListTabs(props: { at: "waiting" | "history"; waiting: number }) {
  return (
    <nav class="tabs" aria-label={words.history.tabs}>
      <a href={fragmentOf({ page: "inbox" })} aria-current={props.at === "waiting" ? "page" : undefined}>
        {words.history.waiting}{" "}
        <Show when={props.waiting > 0}>
          <span class="count">{props.waiting}</span>
        </Show>
      </a>
      <a href={fragmentOf({ page: "history" })} aria-current={props.at === "history" ? "page" : undefined}>
        {words.history.title}
      </a>
    </nav>
  );
}

/** The search, and what can be chosen of `asks`; `more` stands among the choices. */
export function FilterTools(props: {
  filter: Filter;
  set: (filter: Filter) => void;
  asks: readonly AskView[];
  shown: number;
  more?: JSX.Element;
}) {
  const panel = createUniqueId();
  const chosen = () => FACETS.filter((facet) => props.filter[facet] !== undefined);
  const choose = (facet: Facet, value: string | undefined) => {
    const { [facet]: _, ...rest } = props.filter;
    props.set(value === undefined ? rest : { ...rest, [facet]: value });
  };
  return (
    <search class="filter">
      <div class="filter-row">
        <SearchField
          label={words.filter.search}
          hint={words.filter.hint}
          text={props.filter.search}
          write={(search) => props.set({ ...props.filter, search })}
        />
        <button type="button" class="quiet filter-button" popovertarget={panel} aria-label={words.filter.buttonLabel(chosen().length)}>
          <Funnel />
          <span>{words.filter.button}</span>
        </button>
        <div id={panel} popover="auto" class="filter-panel">
          <For each={FACETS}>
            {(facet) => <FacetChoice facet={facet} asks={props.asks} value={props.filter[facet]} choose={(value) => choose(facet, value)} />}
          </For>
          {props.more}
        </div>
      </div>
      <Show when={!isEverything(props.filter)}>
        <p class="filter-chosen">
          <For each={chosen()}>
            {(facet) => {
              const name = () => nameOf(props.filter[facet] ?? "", facet, ledger());
              return (
                <button
                  type="button"
                  class="chip"
                  aria-label={words.filter.drop(words.filter.facets[facet], name())}
                  onClick={() => choose(facet, undefined)}
                >
                  {name()} <Cross />
                </button>
              );
            }}
          </For>
          <output class="muted">{words.filter.shown(props.shown, props.asks.length)}</output>
          <button type="button" class="quiet filter-clear" onClick={() => props.set(EVERYTHING)}>
            {words.filter.clear}
          </button>
        </p>
      </Show>
    </search>
  );
}

function FacetChoice(props: {
  facet: Facet;
  asks: readonly AskView[];
  value: string | undefined;
  choose: (value: string | undefined) => void;
}) {
  const field = createUniqueId();
  const offers = () => {
    const found = offersOf(props.asks, props.facet, ledger());
    const { value } = props;
    // What was chosen stays to be seen when nothing has it any more.
    if (value === undefined || found.some((offer) => offer.value === value)) return found;
    return [...found, { value, count: 0, name: nameOf(value, props.facet, ledger()) }];
  };
  return (
    <span class="filter-facet">
      <label for={field}>{words.filter.facets[props.facet]}</label>
      <select id={field} onChange={(event) => props.choose(event.currentTarget.value === "" ? undefined : event.currentTarget.value)}>
        <option value="" selected={props.value === undefined}>
          {words.filter.any[props.facet]}
        </option>
        <For each={offers()}>
          {(offer) => (
            <option value={offer.value} selected={props.value === offer.value}>
              {offer.name} ({offer.count})
            </option>
          )}
        </For>
      </select>
    </span>
  );
}

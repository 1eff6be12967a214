/*
 * A list of any length, of which only the rows in sight are drawn.
 *
 * A short list is drawn as a whole. In a long one each row knows its place among all of them, so that a screen reader can
 * say it; the row that has the focus, and the one that `keep` names, are there wherever somebody scrolls; and what is read
 * stays in its place when rows above it come, go, or turn out higher than was guessed.
 */
import { children, createComputed, createEffect, createMemo, createSignal, For, on, onCleanup, onMount, type JSX } from "solid-js";
import { Dynamic } from "solid-js/web";
import { drawn, placesOf, roomsOf, type Stretch } from "../state/windowing.ts";

/** A list of so many rows is drawn as a whole. */
const FEW = 80;
/** How far beyond the screen rows are drawn, in pixels, and in what steps. */
const BEYOND = 800;
const STEP = 200;

interface Anchor<K> {
  key: K;
  top: number;
  scrolled: number;
}

export function VirtualList<K extends string | number>(props: {
  /** What names the rows, in order. */
  each: readonly K[];
  /** Draws a row: one element. */
  children: (key: K) => JSX.Element;
  /** How high a row is that was never drawn, in pixels. */
  guess: number;
  /** A row that is drawn wherever somebody scrolls. */
  keep?: K | undefined;
  tag?: "ul" | "ol";
  class: string;
  label?: string;
  /** What is shown if there are no rows. */
  fallback?: JSX.Element;
  /** What follows the rows. */
  after?: JSX.Element;
}) {
  let list: HTMLElement | undefined;
  const heights = new Map<K, number>();
  const rowOf = new Map<K, HTMLElement>();
  const keyOf = new WeakMap<Element, K>();
  const [measured, setMeasured] = createSignal(0);
  const [view, setView] = createSignal<Stretch>({ from: -BEYOND, to: 2 * BEYOND }, { equals: (a, b) => a.from === b.from && a.to === b.to });
  const [focused, setFocused] = createSignal<K>();
  const [gap, setGap] = createSignal(0);
  let anchor: Anchor<K> | undefined;

  const isLong = createMemo(() => props.each.length > FEW);
  const numbers = createMemo(() => (isLong() ? new Map(props.each.map((key, at) => [key, at])) : undefined));
  const places = createMemo(() => {
    measured();
    return isLong() ? placesOf(props.each, heights, props.guess, gap()) : undefined;
  });
  const rows = createMemo(() => {
    const all = places();
    if (all === undefined) return undefined;
    const number = (key: K | undefined) => (key === undefined ? -1 : (numbers()?.get(key) ?? -1));
    const focus = number(focused());
    // The next and the one before are where Tab leads.
    return drawn(all, view(), [number(props.keep), ...(focus < 0 ? [] : [focus - 1, focus, focus + 1])]);
  });
  const keys = createMemo(() => rows()?.flatMap((row) => props.each[row] ?? []) ?? props.each);
  /** The room before each row that is drawn; after the last one, too. */
  const rooms = createMemo(() => {
    const [all, some] = [places(), rows()];
    if (all === undefined || some === undefined) return undefined;
    const { before, after } = roomsOf(all, some);
    return new Map(keys().map((key, at) => [key, { before: before[at] ?? 0, after: at === some.length - 1 ? after : 0 }]));
  });

  const look = () => {
    if (list === undefined || !isLong()) return;
    const { top } = list.getBoundingClientRect();
    const step = (offset: number) => Math.floor(offset / STEP) * STEP;
    setView({ from: step(-top - BEYOND), to: step(-top + innerHeight + BEYOND) + STEP });
    anchor = standing();
  };
  /** The first row in sight, and where it stands. */
  const standing = (): Anchor<K> | undefined => {
    if (list === undefined) return undefined;
    const scroller = scrollerOf(list);
    const edge = Math.max(0, scroller.getBoundingClientRect().top);
    for (const key of keys()) {
      const box = rowOf.get(key)?.getBoundingClientRect();
      if (box !== undefined && box.height > 0 && box.bottom > edge) return { key, top: box.top, scrolled: scroller.scrollTop };
    }
    return undefined;
  };
  /** Puts what was read back where it was. */
  const hold = () => {
    if (list === undefined || anchor === undefined) return;
    const element = rowOf.get(anchor.key);
    const scroller = scrollerOf(list);
    if (element?.isConnected !== true || scroller.scrollTop <= 0) return;
    const moved = element.getBoundingClientRect().top - anchor.top + scroller.scrollTop - anchor.scrolled;
    if (Math.abs(moved) >= 1) scroller.scrollTop += moved;
    anchor = standing();
  };

  const sizes =
    "ResizeObserver" in globalThis
      ? new ResizeObserver((entries) => {
          let isNew = false;
          for (const { target, borderBoxSize } of entries) {
            const key = keyOf.get(target);
            const height = borderBoxSize[0]?.blockSize ?? 0;
            if (key === undefined || height === 0 || Math.abs((heights.get(key) ?? -1) - height) < 0.5) continue;
            heights.set(key, height);
            isNew = true;
          }
          if (!isNew) return;
          setMeasured(measured() + 1);
          hold();
        })
      : undefined;

  onMount(() => {
    if (list === undefined) return;
    setGap(Number.parseFloat(getComputedStyle(list).rowGap) || 0);
    let frame = 0;
    const soon = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        look();
      });
    };
    // Whatever scrolls, a pane or the page, the list may have moved.
    document.addEventListener("scroll", soon, { capture: true, passive: true });
    addEventListener("resize", soon);
    onCleanup(() => {
      cancelAnimationFrame(frame);
      document.removeEventListener("scroll", soon, { capture: true });
      removeEventListener("resize", soon);
      sizes?.disconnect();
    });
    look();
  });
  // Rows came or went. They are in their places when everything that follows from that is done.
  createEffect(
    on(places, (all) => {
      if (all === undefined) return;
      queueMicrotask(() => {
        hold();
        look();
      });
    }),
  );

  // Rows that change places are taken out of the page and put back, which loses the focus in them.
  let moved: Element | undefined;
  createComputed(
    on(
      keys,
      () => {
        const active = document.activeElement;
        if (active === null || list?.contains(active) !== true) return;
        moved = active;
        queueMicrotask(() => {
          const was = moved;
          moved = undefined;
          if (was instanceof HTMLElement && was.isConnected && document.activeElement !== was) was.focus({ preventScroll: true });
        });
      },
      { defer: true },
    ),
  );

  const draw = (key: K) => {
    const made = children(() => props.children(key));
    const element = createMemo(() => made.toArray().find((node): node is HTMLElement => node instanceof HTMLElement));
    createEffect(() => {
      const own = element();
      if (own === undefined || !isLong()) return;
      rowOf.set(key, own);
      keyOf.set(own, key);
      sizes?.observe(own);
      onCleanup(() => {
        sizes?.unobserve(own);
        rowOf.delete(key);
      });
    });
    createEffect(() => {
      const own = element();
      if (own === undefined) return;
      const room = rooms()?.get(key);
      own.style.marginBlockStart = room === undefined ? "" : `${room.before}px`;
      own.style.marginBlockEnd = room === undefined || room.after === 0 ? "" : `${room.after}px`;
      place(own, numbers()?.get(key), props.each.length);
    });
    return <>{made()}</>;
  };
  const follow = (event: FocusEvent) => {
    const row = event.target instanceof Element ? event.target.closest("li") : null;
    setFocused(() => (row === null ? undefined : keyOf.get(row)));
  };
  return (
    <Dynamic
      component={props.tag ?? "ul"}
      ref={(element: HTMLElement) => (list = element)}
      class={props.class}
      classList={{ virtual: isLong() }}
      aria-label={props.label}
      onFocusIn={follow}
      onFocusOut={() => moved ?? setFocused(undefined)}
    >
      <For each={keys()} fallback={props.fallback}>
        {draw}
      </For>
      {props.after}
    </Dynamic>
  );
}

/** Says which of how many rows it is; in a short list a browser counts them itself. */
function place(row: HTMLElement, number: number | undefined, count: number): void {
  if (number === undefined) {
    row.removeAttribute("aria-posinset");
    row.removeAttribute("aria-setsize");
    return;
  }
  row.setAttribute("aria-posinset", String(number + 1));
  row.setAttribute("aria-setsize", String(count));
}

/** What scrolls an element: a pane around it, or the page. */
function scrollerOf(element: HTMLElement): Element {
  for (let box = element.parentElement; box !== null; box = box.parentElement) {
    const { overflowY } = getComputedStyle(box);
    if (overflowY === "auto" || overflowY === "scroll") return box;
  }
  return document.scrollingElement ?? document.documentElement;
}

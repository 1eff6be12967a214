/*
 * A command, whole, with its parts in colours and what it reaches for outside. Its words are broken only where one alone
 * is longer than a line: a break after a hyphen reads like a blank.
 */
import { createMemo, For, Show } from "solid-js";
import { pathsOutside } from "../text/paths.ts";
import { programs, tokens, type Token } from "../text/shell.ts";
import { words } from "../text/words.ts";
import { Alert } from "./icons.tsx";
import { Long } from "./long.tsx";
import { Visible } from "./visible.tsx";

/** A longer one is no command that somebody reads by its colours. */
const LONGEST = 40_000;

/** Where a command runs, and what it should not leave. */
export interface Place {
  directory: string;
  root: string;
}

export function Command(props: { text: string; place?: Place | undefined }) {
  const parts = createMemo((): Token[] =>
    props.text.length > LONGEST ? [{ kind: "word", text: props.text }] : tokens(props.text),
  );
  const named = createMemo(() => programs(parts()));
  const outside = createMemo(() => (props.place === undefined ? [] : pathsOutside(parts(), props.place.directory, props.place.root)));
  return (
    <>
      <pre class="code command" tabindex="0">
        <Show when={props.text.length <= LONGEST} fallback={<Long text={props.text} />}>
          <For each={byWord(parts())}>
            {(word) => (
              <Show when={word.isSpace} fallback={<span class="word"><For each={word.parts}>{(part) => <Piece part={part} />}</For></span>}>
                {word.parts[0]?.text}
              </Show>
            )}
          </For>
        </Show>
      </pre>
      <Show when={named().length > 1}>
        <p class="command-runs" title={words.command.runsHint}>
          <span class="muted">{words.command.runs}</span>
          <For each={named()}>
            {(name) => (
              <code>
                <Visible text={name} />
              </code>
            )}
          </For>
        </p>
      </Show>
      <Show when={outside().length > 0}>
        <div class="note note-warning">
          <Alert />
          <div>
            {words.command.outside(outside().length)}
            <ul class="outside-paths">
              <For each={outside()}>
                {(path) => (
                  <li class="path">
                    <Visible text={path} />
                  </li>
                )}
              </For>
            </ul>
          </div>
        </div>
      </Show>
    </>
  );
}

function Piece(props: { part: Token }) {
  return (
    <Show when={props.part.kind !== "word"} fallback={<Visible text={props.part.text} />}>
      <span class={`sh-${props.part.kind}`}>
        <Visible text={props.part.text} />
      </span>
    </Show>
  );
}

interface Word {
  isSpace: boolean;
  parts: Token[];
}

/** The parts in words, with the blanks between them; a text in quotes may be several. */
function byWord(parts: readonly Token[]): Word[] {
  const found: Word[] = [];
  for (const part of parts) {
    for (const [index, text] of part.text.split(/([ \t\n]+)/).entries()) {
      if (text === "") continue;
      const isSpace = index % 2 === 1;
      const last = found.at(-1);
      if (last !== undefined && !last.isSpace && !isSpace) last.parts.push({ kind: part.kind, text });
      else found.push({ isSpace, parts: [{ kind: part.kind, text }] });
    }
  }
  return found;
}

/*
 * What an agent writes, drawn as elements of our own: nothing of it is ever read as HTML, and a link says where it leads.
 *
 * Only the outermost block that grows is drawn anew while something is being said.
 */
import { createMemo, createSignal, For, Match, Show, Switch } from "solid-js";
import { Dynamic } from "solid-js/web";
import { outermost, parseMarkdown, type Block, type Inline, type ListItem } from "../text/markdown.ts";
import { words } from "../text/words.ts";
import { Check, Copy } from "./icons.tsx";
import { Long } from "./long.tsx";
import { Visible } from "./visible.tsx";

/** Longer words are shown as they are: nobody reads them for their headings. */
const LONGEST = 200_000;

/** What stands around it has the headings above `under`; those of the text are all one below, whatever it says they are. */
export function Markdown(props: { text: string; under?: "h2" | "h3"; isGrowing?: boolean }) {
  const pieces = createMemo(() => (props.text.length > LONGEST ? undefined : outermost(props.text)));
  return (
    <Show
      when={pieces()}
      fallback={
        <p class="said-text">
          <Long text={props.text} isGrowing={props.isGrowing === true} />
        </p>
      }
    >
      {(known) => (
        <div class="prose">
          <For each={known()}>{(piece) => <Blocks blocks={parseMarkdown(piece)} heading={props.under === "h3" ? "h4" : "h3"} />}</For>
        </div>
      )}
    </Show>
  );
}

type Heading = "h3" | "h4";

function Blocks(props: { blocks: readonly Block[]; heading: Heading }) {
  return <For each={props.blocks}>{(block) => <BlockView block={block} heading={props.heading} />}</For>;
}

function BlockView(props: { block: Block; heading: Heading }) {
  const is = <K extends Block["kind"]>(kind: K) => (props.block.kind === kind ? (props.block as Extract<Block, { kind: K }>) : undefined);
  return (
    <Switch>
      <Match when={is("paragraph")}>
        {(block) => (
          <p>
            <Inlines inlines={block().inlines} />
          </p>
        )}
      </Match>
      <Match when={is("heading")}>
        {(block) => (
          <Dynamic component={props.heading} data-level={Math.min(block().level, 4)}>
            <Inlines inlines={block().inlines} />
          </Dynamic>
        )}
      </Match>
      <Match when={is("code")}>{(block) => <CodeBlock language={block().language} text={block().text} />}</Match>
      <Match when={is("quote")}>
        {(block) => (
          <blockquote>
            <Blocks blocks={block().blocks} heading={props.heading} />
          </blockquote>
        )}
      </Match>
      <Match when={is("list")}>
        {(block) => (
          <Show
            when={block().start !== undefined}
            fallback={
              <ul>
                <Items items={block().items} heading={props.heading} />
              </ul>
            }
          >
            <ol start={block().start}>
              <Items items={block().items} heading={props.heading} />
            </ol>
          </Show>
        )}
      </Match>
      <Match when={is("table")}>
        {(block) => (
          <div class="prose-table" tabindex="0">
            <table>
              <thead>
                <tr>
                  <For each={block().head}>
                    {(cell) => (
                      <th scope="col">
                        <Inlines inlines={cell} />
                      </th>
                    )}
                  </For>
                </tr>
              </thead>
              <tbody>
                <For each={block().rows}>
                  {(row) => (
                    <tr>
                      <For each={row}>
                        {(cell) => (
                          <td>
                            <Inlines inlines={cell} />
                          </td>
                        )}
                      </For>
                    </tr>
                  )}
                </For>
              </tbody>
            </table>
          </div>
        )}
      </Match>
      <Match when={is("rule")}>
        <hr />
      </Match>
    </Switch>
  );
}

function Items(props: { items: readonly ListItem[]; heading: Heading }) {
  return (
    <For each={props.items}>
      {(item) => (
        <li classList={{ "prose-step": item.done !== undefined }}>
          <Show when={item.done !== undefined}>
            <span class="step-status">
              <Show when={item.done} fallback={<span class="step-mark" aria-hidden="true" />}>
                <Check />
              </Show>
              <span class="unseen">{words.transcript.steps[item.done === true ? "completed" : "pending"]}: </span>
            </span>
          </Show>
          <div>
            <Blocks blocks={item.blocks} heading={props.heading} />
          </div>
        </li>
      )}
    </For>
  );
}

function Inlines(props: { inlines: readonly Inline[] }) {
  return <For each={props.inlines}>{(inline) => <InlineView inline={inline} />}</For>;
}

function InlineView(props: { inline: Inline }) {
  const is = <K extends Inline["kind"]>(kind: K) => (props.inline.kind === kind ? (props.inline as Extract<Inline, { kind: K }>) : undefined);
  return (
    <Switch>
      <Match when={is("text")}>{(inline) => <Visible text={inline().text} />}</Match>
      <Match when={is("code")}>
        {(inline) => (
          <code>
            <Visible text={inline().text} />
          </code>
        )}
      </Match>
      <Match when={is("strong")}>
        {(inline) => (
          <strong>
            <Inlines inlines={inline().inlines} />
          </strong>
        )}
      </Match>
      <Match when={is("emphasis")}>
        {(inline) => (
          <em>
            <Inlines inlines={inline().inlines} />
          </em>
        )}
      </Match>
      <Match when={is("struck")}>
        {(inline) => (
          <s>
            <Inlines inlines={inline().inlines} />
          </s>
        )}
      </Match>
      <Match when={is("link")}>{(inline) => <OutLink href={inline().href} inlines={inline().inlines} />}</Match>
      <Match when={is("break")}>
        <br />
      </Match>
    </Switch>
  );
}

/** A way out of the page. The agent chose both its words and where it leads, so both are said. */
function OutLink(props: { href: string; inlines: readonly Inline[] }) {
  const host = () => new URL(props.href).host;
  const saysHost = () => props.inlines.some((inline) => inline.kind === "text" && inline.text.includes(host()));
  return (
    <>
      <a href={props.href} target="_blank" rel="noopener noreferrer nofollow" title={props.href}>
        <Inlines inlines={props.inlines} />
      </a>
      <Show when={!saysHost()}>
        <span class="prose-host"> ({host()})</span>
      </Show>
    </>
  );
}

function CodeBlock(props: { language: string; text: string }) {
  const [isCopied, setCopied] = createSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(props.text);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <figure class="prose-code">
      <figcaption>
        <span>
          <Visible text={props.language} />
        </span>
        <Show when={"clipboard" in navigator}>
          <button type="button" class="quiet" aria-label={words.transcript.copy} onClick={() => void copy()}>
            <Show when={isCopied()} fallback={<Copy />}>
              <Check />
            </Show>
          </button>
          <output class="unseen">{isCopied() ? words.transcript.copied : ""}</output>
        </Show>
      </figcaption>
      <pre tabindex="0">
        <code>
          <Visible text={props.text} />
        </code>
      </pre>
    </figure>
  );
}

const COPIED_MS = 2_000;

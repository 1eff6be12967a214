/* One session: what was said and done, its open asks, and what to say next. */
import { createEffect, createMemo, createSignal, For, Match, on, onCleanup, onMount, Show, Switch } from "solid-js";
import { cancelTurn, sentenceOf } from "../api/client.ts";
import type { SessionView, TurnOutcome } from "../api/types.ts";
import { AskPanel } from "../parts/ask-panel.tsx";
import { SessionComposer } from "../parts/composer.tsx";
import { Family } from "../parts/family.tsx";
import { ConsentNote } from "../parts/engines.tsx";
import { Alert, Link, Stop } from "../parts/icons.tsx";
import { QueuedPrompts } from "../parts/queue.tsx";
import { SessionLink, workspaceName } from "../parts/requester.tsx";
import { Problem } from "../parts/problem.tsx";
import { Sentence } from "../parts/sentence.tsx";
import { SessionSettings } from "../parts/settings.tsx";
import { TranscriptView } from "../parts/transcript.tsx";
import { Visible } from "../parts/visible.tsx";
import { fragmentOf, route } from "../router.ts";
import { bindKeys } from "../state/keys.ts";
import { openAsks } from "../state/ledger.ts";
import { followSession, isLoaded, isMissing, learnSession, ledger, transcriptOf, wantEarlier, wantSession } from "../state/live.ts";
import { words } from "../text/words.ts";

/** Who reads the newest words is within this many pixels of them. */
const NEAR_END = 80;

export function Session(props: { id: string }) {
  createEffect(() => {
    if (!isLoaded()) return;
    wantSession(props.id);
    followSession(props.id);
  });
  return (
    <Show
      when={ledger().sessions[props.id]}
      fallback={<p class="quiet-note">{isMissing(props.id) ? words.sessions.missing : words.reading}</p>}
    >
      {(session) => <Conversation session={session()} />}
    </Show>
  );
}

function Conversation(props: { session: SessionView }) {
  const asks = createMemo(() =>
    openAsks(ledger())
      // A sub-agent's ask holds up the session that started it, so it is shown there too.
      .filter((ask) => ask.session === props.session.id || ask.parent_session === props.session.id)
      .map((ask) => ask.id),
  );
  const held = createHeld(asks);
  const [cursor, setCursor] = createSignal<string>();
  const current = () => {
    const at = cursor();
    return at !== undefined && held().includes(at) ? at : held()[0];
  };
  const move = (by: 1 | -1) => {
    const at = held().indexOf(current() ?? "");
    const to = held()[Math.min(Math.max(at + by, 0), held().length - 1)];
    setCursor(to);
    document.querySelector(`.conversation [data-ask="${to}"]`)?.scrollIntoView({ block: "nearest" });
  };
  bindKeys(() => (held().length > 1 ? { next: () => move(1), previous: () => move(-1) } : {}));

  const transcript = () => transcriptOf(props.session.id);
  const end = createFollowedEnd(() => [transcript(), held(), props.session.queued]);
  createSoughtPiece(() => (transcript()?.items.length ?? 0) > 0, end.leave);

  return (
    <section class="conversation" aria-label={props.session.title}>
      <Head session={props.session} />
      <div class="conversation-scroll" ref={end.scroller}>
        <Show when={(transcript()?.items[0]?.seq ?? 1) > 1}>
          <button type="button" class="earlier" onClick={() => wantEarlier(props.session.id)}>
            {words.readBack}
          </button>
        </Show>
        <Show when={transcript()}>{(known) => <TranscriptView transcript={known()} />}</Show>
        <TurnEnd session={props.session} />
        <For each={held()}>
          {(id) => (
            <Show when={ledger().asks[id]}>
              {(ask) => (
                <div class="inline-ask" classList={{ "inline-ask-current": held().length > 1 && current() === id }}>
                  <AskPanel ask={ask()} hasKeys={current() === id} within={props.session.id} />
                </div>
              )}
            </Show>
          )}
        </For>
      </div>
      <Show when={!end.isFollowing()}>
        <button type="button" class="to-end" onClick={() => end.follow()}>
          {words.sessions.newest}
        </button>
      </Show>
      <footer class="conversation-foot">
        <QueuedPrompts session={props.session} />
        <SessionSettings session={props.session} />
        <Show when={props.session.may_prompt} fallback={<NoPrompt session={props.session} />}>
          <SessionComposer session={props.session.id} />
        </Show>
      </footer>
    </section>
  );
}

function Head(props: { session: SessionView }) {
  const [problem, setProblem] = createSignal<string>();
  const stop = async () => {
    setProblem(undefined);
    try {
      learnSession(await cancelTurn(props.session.id));
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  return (
    <header class="conversation-head">
      <h2>
        <Visible text={props.session.title === "" ? words.sessions.untitled : props.session.title} />
      </h2>
      <p class="conversation-facts">
        <span class={`dot dot-${props.session.activity}`} aria-hidden="true" />
        <span data-activity={props.session.activity}>{words.sessions.activities[props.session.activity]}</span>
        <span class="muted">
          <Visible text={props.session.agent} /> · {workspaceName(props.session.workspace)}
        </span>
        <Show when={props.session.parent}>
          {(parent) => (
            <span>
              {words.shown.subAgent} <SessionLink session={parent()} />
            </span>
          )}
        </Show>
        <ConsentNote />
        <CopyLink />
      </p>
      <Family session={props.session} />
      <Show when={props.session.activity === "busy" && props.session.may_prompt}>
        <button type="button" class="stop" onClick={() => void stop()}>
          <Stop /> {words.sessions.stop}
        </button>
      </Show>
      <Problem sentence={problem()} />
    </header>
  );
}

/** Copies where the session is found: whoever is paired opens it anywhere, as it goes on. */
function CopyLink() {
  const [isCopied, setCopied] = createSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(location.href);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <Show when={"clipboard" in navigator}>
      <button type="button" class="quiet copy-link" title={words.sessions.copyHint} onClick={() => void copy()}>
        <Link /> <span aria-live="polite">{isCopied() ? words.sessions.copied : words.sessions.copy}</span>
      </button>
    </Show>
  );
}

const COPIED_MS = 2_000;

function TurnEnd(props: { session: SessionView }) {
  const outcome = () => props.session.turn?.outcome;
  const failure = (end: TurnOutcome) => (end.outcome === "failed" ? end.reason : "");
  return (
    <Show when={props.session.activity !== "busy" && outcome()}>
      {(end) => (
        <Switch>
          <Match when={end().outcome === "failed"}>
            <p class="note note-error">
              <Alert />
              <span>
                {words.sessions.failed} <Sentence text={failure(end())} />
              </span>
            </p>
          </Match>
          <Match when={end().outcome === "cancelled"}>
            <p class="turn-end">{words.sessions.cancelled}</p>
          </Match>
          <Match when={end().outcome === "denied"}>
            <p class="turn-end">{words.sessions.denied}</p>
          </Match>
        </Switch>
      )}
    </Show>
  );
}

function NoPrompt(props: { session: SessionView }) {
  const why = () => {
    if (props.session.engine === "acp proxy") return words.sessions.editors;
    return props.session.activity === "gone" ? words.sessions.engineGone : words.sessions.noPrompt;
  };
  return (
    <p class="note">
      <span>
        <Sentence text={why()} />
      </span>
    </p>
  );
}

/** The ids that are open, and those that were while this was shown: an ask that ends stays and says how. */
function createHeld(open: () => readonly string[]): () => readonly string[] {
  const [held, setHeld] = createSignal<readonly string[]>([]);
  createEffect(() => {
    const fresh = open().filter((id) => !held().includes(id));
    if (fresh.length > 0) setHeld([...held(), ...fresh]);
  });
  return held;
}

/** Brings the piece that the address names into sight, once it is there, and leaves whoever reads it there. */
function createSoughtPiece(isThere: () => boolean, found: () => void): void {
  let done: string | undefined;
  createEffect(() => {
    const at = route();
    if (at.page !== "session" || at.item === undefined || done === fragmentOf(at) || !isThere()) return;
    const piece = document.getElementById(`piece-${at.item}`);
    if (piece === null) return;
    done = fragmentOf(at);
    found();
    piece.querySelector("details")?.setAttribute("open", "");
    requestAnimationFrame(() => {
      piece.scrollIntoView({ block: "center" });
      piece.focus({ preventScroll: true });
    });
  });
}

/** Keeps the newest in sight for whoever is at the end, and leaves everybody else where they read. */
function createFollowedEnd(grows: () => unknown) {
  const [isFollowing, setFollowing] = createSignal(true);
  let box: HTMLElement | undefined;
  const follow = () => {
    setFollowing(true);
    if (box !== undefined) box.scrollTop = box.scrollHeight;
  };
  // Rows turn out higher than was guessed when they are drawn.
  const sizes = new ResizeObserver(() => {
    if (isFollowing()) follow();
  });
  onCleanup(() => sizes.disconnect());
  createEffect(
    on(grows, () =>
      queueMicrotask(() => {
        for (const part of box?.children ?? []) sizes.observe(part);
        if (isFollowing()) follow();
      }),
    ),
  );
  onMount(() => {
    if (box === undefined) return;
    const scrolled = () => {
      if (box !== undefined) setFollowing(box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END);
    };
    box.addEventListener("scroll", scrolled, { passive: true });
    onCleanup(() => box?.removeEventListener("scroll", scrolled));
  });
  const leave = () => setFollowing(false);
  return { isFollowing, follow, leave, scroller: (element: HTMLElement) => (box = element) };
}

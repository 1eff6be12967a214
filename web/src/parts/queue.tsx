/* The prompts that wait until the agent has come to the end of what it is doing. */
import { createSignal, For, Show } from "solid-js";
import { sentenceOf, takeBack } from "../api/client.ts";
import type { SessionView } from "../api/types.ts";
import { me } from "../state/identity.ts";
import { learnSession } from "../state/live.ts";
import { words } from "../text/words.ts";
import { Clock, Cross } from "./icons.tsx";
import { Problem } from "./problem.tsx";
import { Visible } from "./visible.tsx";

export function QueuedPrompts(props: { session: SessionView }) {
  const [problem, setProblem] = createSignal<string>();
  const [taking, setTaking] = createSignal<string>();
  const queued = () => props.session.queued ?? [];
  const name = () => me().actor.name;
  const take = async (turn: string) => {
    setTaking(turn);
    setProblem(undefined);
    try {
      learnSession(await takeBack(props.session.id, turn));
    } catch (error) {
      setProblem(sentenceOf(error));
    } finally {
      setTaking(undefined);
    }
  };
  return (
    <>
      <Problem sentence={problem()} />
      <Show when={queued().length > 0}>
        <section class="queue" aria-label={words.queue.title}>
          <ol>
            <For each={queued()}>
              {(prompt) => (
                <li>
                  <span class="queue-mark">
                    <Clock /> {words.queue.queued}
                  </span>
                  <span class="queue-text">
                    <Visible text={prompt.text} />
                  </span>
                  <Show when={prompt.by !== name()}>
                    <span class="muted">
                      {words.queue.by} <Visible text={prompt.by} />
                    </span>
                  </Show>
                  <Show when={props.session.may_prompt}>
                    <button
                      type="button"
                      class="quiet"
                      aria-label={words.queue.takeBackOf(prompt.text.slice(0, 60))}
                      title={words.queue.takeBack}
                      disabled={taking() === prompt.turn}
                      onClick={() => void take(prompt.turn)}
                    >
                      <Cross />
                    </button>
                  </Show>
                </li>
              )}
            </For>
          </ol>
        </section>
      </Show>
    </>
  );
}

/* Whether this browser is told of new asks while nobody looks. */
import { createSignal, onMount, Show } from "solid-js";
import { sentenceOf } from "../api/client.ts";
import { learnPushing, pushing, startPushing, stopPushing } from "../state/pushing.ts";
import { words } from "../text/words.ts";
import { Problem } from "./problem.tsx";

export function PushChoice() {
  const text = words.push;
  const [problem, setProblem] = createSignal<string>();
  const [isBusy, setBusy] = createSignal(false);
  const attempt = async (act: () => Promise<void>) => {
    if (isBusy()) return;
    setBusy(true);
    setProblem(undefined);
    try {
      await act();
    } catch (error) {
      setProblem(text.failed(sentenceOf(error)));
    } finally {
      setBusy(false);
    }
  };
  onMount(() => void attempt(learnPushing));
  const can = () => pushing() === "off" || pushing() === "on";
  return (
    <fieldset class="push-choice" aria-describedby="push-hint">
      <legend>{text.title}</legend>
      <Show when={can()} fallback={<p class="muted">{text.standing[pushing()]}</p>}>
        <div class="segments">
          <button type="button" class="segment" aria-pressed={pushing() === "off"} aria-disabled={isBusy()} onClick={() => void attempt(stopPushing)}>
            {text.off}
          </button>
          <button type="button" class="segment" aria-pressed={pushing() === "on"} aria-disabled={isBusy()} onClick={() => void attempt(startPushing)}>
            {text.on}
          </button>
        </div>
      </Show>
      <Problem sentence={problem()} />
      <small id="push-hint">{text.hint}</small>
    </fieldset>
  );
}

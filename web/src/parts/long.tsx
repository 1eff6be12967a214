/* Text of any length that somebody else chose: a screenful of letters is drawn at a time, and what is not drawn is said. */
import { createSignal, Show } from "solid-js";
import { words } from "../text/words.ts";
import { Visible } from "./visible.tsx";

/** So many letters are drawn at first, and so many more whenever somebody wants them. */
const PORTION = 20_000;

/** `text` from its beginning or, while it is still being said, from near its end. */
export function Long(props: { text: string; isGrowing?: boolean }) {
  const [drawn, setDrawn] = createSignal(PORTION);
  const isCut = () => props.text.length > drawn();
  return (
    <Show when={isCut()} fallback={<Visible text={props.text} />}>
      <Show
        when={props.isGrowing === true}
        fallback={
          <>
            <Visible text={props.text.slice(0, whole(props.text, drawn()))} />
            <button type="button" class="cut" onClick={() => setDrawn(drawn() * 4)}>
              {words.long.more(drawn(), props.text.length)}
            </button>
          </>
        }
      >
        <span class="cut muted">{words.long.earlier(props.text.length - PORTION)}</span>
        <Visible text={props.text.slice(whole(props.text, props.text.length - PORTION))} />
      </Show>
    </Show>
  );
}

/** The place at or after `at` that is not within a character. */
function whole(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}

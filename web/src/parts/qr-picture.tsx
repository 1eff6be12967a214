/* A QR code, dark on light whatever the colours of the page: cameras expect it so. */
import { createMemo, Show } from "solid-js";
import { qrCode } from "../qr/code.ts";
import { words } from "../text/words.ts";

/** The light border that readers need. */
const QUIET = 4;

export function QrPicture(props: { text: string }) {
  const rows = createMemo(() => qrCode(props.text));
  return (
    <Show when={rows()} fallback={<p class="muted">{words.pairing.tooLong}</p>}>
      {(known) => {
        const size = () => known().length + 2 * QUIET;
        return (
          <svg class="qr" viewBox={`0 0 ${size()} ${size()}`} aria-hidden="true" shape-rendering="crispEdges">
            <rect width={size()} height={size()} fill="#fff" />
            <path fill="#000" d={pathOf(known())} />
          </svg>
        );
      }}
    </Show>
  );
}

/** Each run of dark modules in a row as a rectangle. */
function pathOf(rows: readonly (readonly boolean[])[]): string {
  return rows
    .flatMap((row, y) => {
      const text = row.map((isDark) => (isDark ? "#" : " ")).join("");
      return [...text.matchAll(/#+/g)].map((run) => `M${run.index + QUIET} ${y + QUIET}h${run[0].length}v1h-${run[0].length}z`);
    })
    .join("");
}

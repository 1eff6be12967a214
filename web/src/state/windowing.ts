/*
 * Which rows of a long list are drawn, and where they stand. Pure: measures in, places out.
 *
 * A row that was drawn once is as high as it was then; of the others it is guessed.
 */
export interface Stretch {
  from: number;
  to: number;
}

/** Where each row begins, and at the end where one more would: rows of such heights, with a gap between them. */
export function placesOf<K>(keys: readonly K[], heights: ReadonlyMap<K, number>, guess: number, gap: number): Float64Array {
  const places = new Float64Array(keys.length + 1);
  for (let at = 0; at < keys.length; at += 1) {
    places[at + 1] = (places[at] ?? 0) + (heights.get(keys[at] as K) ?? guess) + gap;
  }
  return places;
}

/** The row that covers `offset`, or the nearest one. */
export function rowAt(places: Float64Array, offset: number): number {
  let low = 0;
  let high = Math.max(0, places.length - 2);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((places[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The rows that are drawn, in order: those in `view`, and those that have to be there whatever is seen. */
export function drawn(places: Float64Array, view: Stretch, always: readonly number[]): number[] {
  const count = places.length - 1;
  if (count <= 0) return [];
  const [first, last] = [rowAt(places, view.from), rowAt(places, view.to)];
  const rows = Array.from({ length: last - first + 1 }, (_, at) => first + at);
  const others = new Set(always.filter((row) => row >= 0 && row < count && (row < first || row > last)));
  return others.size === 0 ? rows : [...others, ...rows].toSorted((a, b) => a - b);
}

/** How much room is left before each drawn row and after the last, for those that are not drawn. */
export function roomsOf(places: Float64Array, rows: readonly number[]): { before: number[]; after: number } {
  let end = 0;
  const before = rows.map((row) => {
    const room = (places[row] ?? 0) - end;
    end = places[row + 1] ?? 0;
    return room;
  });
  return { before, after: (places.at(-1) ?? 0) - end };
}

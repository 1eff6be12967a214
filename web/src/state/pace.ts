/*
 * Takes in what comes in at any rate, a few times a second: what arrives together is drawn together, so that a page that is
 * told a thousand things a second still answers a click. Nothing is left out, and the order stays.
 */

/** How long what came waits, after as little as people make happen and after a flood. */
const PAUSE_MS = 100;
const LONG_PAUSE_MS = 300;
/** So much at once is a flood. */
const MANY = 50;

export class Pace<T> {
  readonly #take: (all: readonly T[]) => void;
  #waiting: T[] = [];
  #isTimed = false;
  #next = 0;

  constructor(take: (all: readonly T[]) => void) {
    this.#take = take;
  }

  add(one: T): void {
    this.#waiting.push(one);
    // The first of a while is taken in at once, but for what comes in the same breath.
    if (this.#isTimed) return;
    this.#isTimed = true;
    setTimeout(() => this.#empty(), Math.max(0, this.#next - performance.now()));
  }

  #empty(): void {
    this.#isTimed = false;
    const all = this.#waiting;
    this.#waiting = [];
    this.#take(all);
    // However long that took, the pause is for everything else.
    this.#next = performance.now() + (all.length > MANY ? LONG_PAUSE_MS : PAUSE_MS);
  }
}

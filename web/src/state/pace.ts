/*
 * Takes in what comes in at any rate, a few times a second: what arrives together is drawn together, so that a page that is
 * told a thousand things a second still answers a click. Nothing is left out, and the order stays.
 */

/** How long what came waits at most. */
const LONGEST_MS = 100;

export class Pace<T> {
  readonly #take: (all: readonly T[]) => void;
  #waiting: T[] = [];
  #isTimed = false;
  #last = 0;

  constructor(take: (all: readonly T[]) => void) {
    this.#take = take;
  }

  add(one: T): void {
    this.#waiting.push(one);
    // The first of a while is taken in at once, but for what comes in the same breath.
    if (this.#isTimed) return;
    this.#isTimed = true;
    setTimeout(() => this.#empty(), Math.max(0, this.#last + LONGEST_MS - performance.now()));
  }

  #empty(): void {
    this.#isTimed = false;
    const all = this.#waiting;
    this.#waiting = [];
    this.#take(all);
    // Whoever took long in taking in is left the same time for everything else.
    this.#last = performance.now();
  }
}

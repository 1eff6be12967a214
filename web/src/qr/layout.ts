/* The square of a QR code before anything is written into it: its size, and what readers find it by. Pure. */

/** A module is dark or light, or nothing is there yet. */
export class Square {
  readonly version: number;
  readonly size: number;
  readonly #modules: boolean[];
  /** What readers find the code by: no data is there, and no mask. */
  readonly #fixed: boolean[];

  constructor(version: number) {
    this.version = version;
    this.size = version * 4 + 17;
    this.#modules = Array.from({ length: this.size ** 2 }, () => false);
    this.#fixed = Array.from({ length: this.size ** 2 }, () => false);
  }

  isDark(x: number, y: number): boolean {
    return this.#modules[y * this.size + x] === true;
  }

  isFixed(x: number, y: number): boolean {
    return this.#fixed[y * this.size + x] === true;
  }

  set(x: number, y: number, isDark: boolean): void {
    this.#modules[y * this.size + x] = isDark;
  }

  fix(x: number, y: number, isDark: boolean): void {
    if (x < 0 || y < 0 || x >= this.size || y >= this.size) return;
    this.set(x, y, isDark);
    this.#fixed[y * this.size + x] = true;
  }
}

/** How many modules of a version are there for data and what corrects it. */
export function room(version: number): number {
  let modules = (16 * version + 128) * version + 64;
  if (version >= 2) {
    const aside = Math.floor(version / 7) + 2;
    modules -= (25 * aside - 10) * aside - 55;
    if (version >= 7) modules -= 36;
  }
  return modules;
}

/** An empty square of a version, with everything that readers find it by but for what says which mask it has. */
export function emptySquare(version: number): Square {
  const square = new Square(version);
  const { size } = square;
  for (let at = 0; at < size; at += 1) {
    square.fix(6, at, at % 2 === 0);
    square.fix(at, 6, at % 2 === 0);
  }
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const) {
    drawRings(square, x, y, 4, [2, 4]);
  }
  const places = marks(version, size);
  const last = places.length - 1;
  places.forEach((x, column) =>
    places.forEach((y, row) => {
      const isAtFinder = (column === 0 && (row === 0 || row === last)) || (column === last && row === 0);
      if (!isAtFinder) drawRings(square, x, y, 2, [1]);
    }),
  );
  drawMask(square, 0);
  if (version >= 7) drawVersion(square);
  return square;
}

/** Rings about a point; those as far away as `light` says are light. */
function drawRings(square: Square, x: number, y: number, reach: number, light: readonly number[]): void {
  for (let dy = -reach; dy <= reach; dy += 1) {
    for (let dx = -reach; dx <= reach; dx += 1) {
      square.fix(x + dx, y + dy, !light.includes(Math.max(Math.abs(dx), Math.abs(dy))));
    }
  }
}

/** Where the small marks are, on each side. */
function marks(version: number, size: number): number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.floor((version * 8 + count * 3 + 5) / (count * 4 - 4)) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, at) => size - 7 - (count - 2 - at) * step)];
}

/** Writes down which mask the code has; that it is of the medium strength of correction is zero. */
export function drawMask(square: Square, mask: number): void {
  const { size } = square;
  const bits = withCheck(mask, 10, 0x537) ^ 0x5412;
  const bit = (at: number) => ((bits >>> at) & 1) === 1;
  for (let at = 0; at <= 5; at += 1) square.fix(8, at, bit(at));
  square.fix(8, 7, bit(6));
  square.fix(8, 8, bit(7));
  square.fix(7, 8, bit(8));
  for (let at = 9; at < 15; at += 1) square.fix(14 - at, 8, bit(at));
  for (let at = 0; at < 8; at += 1) square.fix(size - 1 - at, 8, bit(at));
  for (let at = 8; at < 15; at += 1) square.fix(8, size - 15 + at, bit(at));
  square.fix(8, size - 8, true);
}

function drawVersion(square: Square): void {
  const bits = withCheck(square.version, 12, 0x1f25);
  for (let at = 0; at < 18; at += 1) {
    const isDark = ((bits >>> at) & 1) === 1;
    const near = square.size - 11 + (at % 3);
    const far = Math.floor(at / 3);
    square.fix(near, far, isDark);
    square.fix(far, near, isDark);
  }
}

/** A number with so many bits behind it by which a reader sees that it was read right. */
function withCheck(number: number, length: number, polynomial: number): number {
  let rest = number;
  for (let turn = 0; turn < length; turn += 1) rest = (rest << 1) ^ ((rest >>> (length - 1)) * polynomial);
  return (number << length) | rest;
}

/* Lengths of time in words, as short as they can be and still true. */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long `milliseconds` are: `8 s`, `3 min`, `1 h 05 min`, `2 d 3 h`. A clock that is ahead gives `0 s`. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < MINUTE) return `${seconds} s`;
  if (seconds < 10 * MINUTE) return `${Math.floor(seconds / MINUTE)} min ${pad(seconds % MINUTE)} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)} h ${pad(Math.floor((seconds % HOUR) / MINUTE))} min`;
  return `${Math.floor(seconds / DAY)} d ${Math.floor((seconds % DAY) / HOUR)} h`;
}

/** How long ago something was, in one unit: `just now`, `3 min ago`. */
export function ago(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < MINUTE) return "just now";
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min ago`;
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)} h ago`;
  return `${Math.floor(seconds / DAY)} d ago`;
}

function pad(number: number): string {
  return String(number).padStart(2, "0");
}

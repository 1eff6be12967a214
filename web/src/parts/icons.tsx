/* The page's icons: strokes of one width in the colour of the text. They say nothing that words beside them do not. */
import type { JSX } from "solid-js";

function icon(paths: string[]): () => JSX.Element {
  return () => (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      {paths.map((path) => (
        <path d={path} />
      ))}
    </svg>
  );
}

export const Check = icon(["M3 8.5l3.2 3.2L13 4.8"]);
export const Cross = icon(["M4 4l8 8", "M12 4l-8 8"]);
export const Back = icon(["M10 3L5 8l5 5"]);
export const Forward = icon(["M6 3l5 5-5 5"]);
export const Clock = icon(["M8 2a6 6 0 100 12A6 6 0 008 2z", "M8 5v3.2l2 1.3"]);
export const Terminal = icon(["M3 4.5L6.5 8 3 11.5", "M8.5 12H13"]);
export const File = icon(["M4 2h5l3 3v9H4z", "M9 2v3h3"]);
export const Question = icon(["M5.8 6a2.2 2.2 0 113.4 1.8c-.8.5-1.2.9-1.2 1.7", "M8 12.2v.1"]);
export const Tool = icon(["M10.5 2.5a3.2 3.2 0 00-3 4.3L2.8 11.500a1.200 1.200 0 001.700 1.700L9.200 8.500a3.200 3.200 0 004.200-4l-2 1.600-1.500-1.500z"]);
export const Alert = icon(["M8 2.500L14.300 13.500H1.700z", "M8 6.500v3", "M8 11.600v.1"]);
export const Clip = icon(["M13 7.500l-5 5a3.200 3.200 0 01-4.500-4.500l5.500-5.500a2.100 2.100 0 013 3L6.700 10.800a1 1 0 01-1.500-1.400L9.800 4.800"]);
export const Picture = icon(["M2.500 3.500h11v9h-11z", "M2.500 11l3.500-3.500 2.500 2.500 2-2 3 3", "M10.500 6.200v.1"]);
export const Send = icon(["M8 13V3.500", "M4 7.500l4-4 4 4"]);
export const Stop = icon(["M4.500 4.500h7v7h-7z"]);
export const Shield = icon(["M8 2l5 1.800v4c0 3-2 5-5 6.200-3-1.200-5-3.200-5-6.200v-4z"]);
export const Person = icon(["M8 8.200a2.600 2.600 0 100-5.200 2.600 2.600 0 000 5.200z", "M3 13.500c.6-2.400 2.500-3.500 5-3.500s4.400 1.100 5 3.500"]);
export const Keyboard = icon(["M1.500 4h13v8h-13z", "M4 6.700v.1", "M6.700 6.700v.1", "M9.300 6.700v.1", "M12 6.700v.1", "M5 9.500h6"]);
export const Search = icon(["M7 2.500a4.500 4.500 0 100 9 4.500 4.500 0 000-9z", "M10.300 10.300L13.500 13.500"]);
export const Funnel = icon(["M2.500 4h11", "M4.500 8h7", "M6.500 12h3"]);
export const Stack = icon(["M5 5h8.500v8.500H5z", "M2.500 10.500v-8h8"]);
export const Bell = icon(["M4 11V7a4 4 0 018 0v4l1.200 1.500H2.800z", "M6.800 14h2.400"]);
export const Undo = icon(["M3 6.500h6.500a3.500 3.500 0 010 7H6", "M5.800 3.500L2.800 6.500l3 3"]);
export const Columns = icon(["M2.500 3h11v10h-11z", "M8 3v10"]);
export const Lines = icon(["M2.500 4h11", "M2.500 8h11", "M2.500 12h11"]);
export const Gear = icon(["M2.500 5h6", "M11.500 5h2", "M10 3.500v3", "M2.500 11h2", "M7.500 11h6", "M6 9.500v3"]);
export const Phone = icon(["M5 1.500h6v13H5z", "M7.500 12.300h1"]);
export const Desk = icon(["M2 3h12v8H2z", "M6 13.500h4", "M8 11v2.500"]);
export const Tray = icon(["M2.500 9.500l2-6h7l2 6v3.500h-11z", "M2.500 9.500h3.300l1 1.700h2.400l1-1.700h3.300"]);
export const Talk = icon(["M2.500 3h11v7.500H8L4.800 13.300v-2.800H2.500z"]);
export const Board = icon(["M2.500 3h11v10h-11z", "M6.200 3v10", "M9.800 3v10"]);
export const Copy = icon(["M5.500 5.500h8v8h-8z", "M3.500 10.500h-1v-8h8v1"]);
export const Link = icon(["M6.500 9.500l3-3", "M7.500 4.500l1.700-1.700a2.800 2.800 0 014 4L11.500 8.500", "M8.500 11.500l-1.700 1.700a2.800 2.800 0 01-4-4L4.500 7.500"]);
export const Branch = icon(["M4 2.500v11", "M4 8h5.500a2 2 0 002-2V4.500", "M10 5.800l1.500-1.500L13 5.800"]);
export const Again = icon(["M13 8a5 5 0 11-1.500-3.600", "M13 2.500v3h-3"]);
export const Up = icon(["M8 13V3.500", "M4 7.500l4-4 4 4"]);
export const Down = icon(["M8 3v9.500", "M4 8.500l4 4 4-4"]);
export const Plus = icon(["M8 3v10", "M3 8h10"]);

/*
 * What Solid's compiled templates are drawn with: Solid's own, but that the markup of a template, which is a text of the
 * build, is marked as trusted. The build puts this module where `solid-js/web` would be imported.
 */
import { untrack } from "solid-js";
import { trusted } from "./trusted.ts";

export * from "solid-js/web";

type Drawn = (() => Node) & { cloneNode?: () => Node };

/** Makes what draws a template; the same contract as Solid's. */
export function template(html: string, isImportNode?: boolean, isSvg?: boolean): Drawn {
  let drawn: Node | undefined;
  const draw = (): Node => {
    if (drawn !== undefined) return drawn;
    const holder = document.createElement("template");
    holder.innerHTML = trusted.createHTML(html);
    const first = isSvg === true ? holder.content.firstChild?.firstChild : holder.content.firstChild;
    if (first === null || first === undefined) throw new Error(html);
    drawn = first;
    return first;
  };
  const draws: Drawn = isImportNode === true ? () => untrack(() => document.importNode(draw(), true)) : () => draw().cloneNode(true);
  draws.cloneNode = draws;
  return draws;
}

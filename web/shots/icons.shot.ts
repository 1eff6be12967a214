/* The app's icons, from `src/icon.svg`: `npm run icons` writes them into `public/icons`. */
import { test, type Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const WEB = resolve(import.meta.dirname, "..");
const SVG = readFileSync(join(WEB, "src/icon.svg"), "utf8");
const GROUND = /fill="(#\w+)"/.exec(SVG)?.[1] ?? "";

interface Icon {
  name: string;
  size: number;
  svg: string;
}

const STROKES = SVG.replaceAll(/<\/?svg[^>]*>|<rect[^>]*>/g, "");
const frame = (content: string) => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${content}</svg>`;

const ICONS: readonly Icon[] = [
  { name: "icon-192", size: 192, svg: SVG },
  { name: "icon-512", size: 512, svg: SVG },
  // A system cuts it into a shape of its own, so that the ground reaches over the edge and the rest stays in the middle.
  {
    name: "maskable-512",
    size: 512,
    svg: frame(`<rect width="32" height="32" fill="${GROUND}"/><g transform="translate(16 16) scale(0.72) translate(-16 -16)">${STROKES}</g>`),
  },
  // A system takes its shape alone.
  { name: "badge-96", size: 96, svg: frame(STROKES.replaceAll(/stroke="#\w+"/g, 'stroke="#fff"')) },
];

async function draw(page: Page, icon: Icon): Promise<void> {
  await page.setViewportSize({ width: icon.size, height: icon.size });
  const picture = `data:image/svg+xml;base64,${Buffer.from(icon.svg).toString("base64")}`;
  await page.setContent(`<body style="margin:0"><img style="display:block" width="${icon.size}" height="${icon.size}" src="${picture}"></body>`);
  await page.screenshot({ path: join(WEB, `public/icons/${icon.name}.png`), omitBackground: true });
}

for (const icon of ICONS) test(`the icon ${icon.name}`, ({ page }) => draw(page, icon));

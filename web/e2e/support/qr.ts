/* Reads a QR code off the page, as a camera would: from what is drawn, by a program that knows nothing of ours. */
import type { Locator } from "@playwright/test";
import jsQR from "jsqr";

export async function readCode(picture: Locator): Promise<string | undefined> {
  const png = (await picture.screenshot()).toString("base64");
  // The app's own page may load no such picture.
  const blank = await picture.page().context().newPage();
  const { points, width, height } = await blank.evaluate(async (source) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    if (context === null) throw new Error("nothing can be drawn");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    return { points: [...data], width: image.width, height: image.height };
  }, `data:image/png;base64,${png}`);
  await blank.close();
  return jsQR(new Uint8ClampedArray(points), width, height)?.data;
}

import { expect, test } from "vitest";
import { base64, imageType, LARGEST, readAttachment, tooMuch, type Attached } from "./attaching.ts";

const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 1]);

test("a picture is one by its bytes, whatever it is called", async () => {
  const picture = await readAttachment(new File([PNG], "notes.txt", { type: "text/plain" }), "1");
  expect(picture.body).toEqual({ kind: "image", name: "notes.txt", media_type: "image/png", data: base64(PNG) });
  const drawing = await readAttachment(new File(["<svg onload='x'/>"], "a.svg", { type: "image/svg+xml" }), "2");
  expect(drawing.body.kind).toBe("text");
  expect(imageType(Uint8Array.from([0x47, 0x49, 0x46, 0x38, 0x39, 0x61]))).toBe("image/gif");
  expect(imageType(Uint8Array.from([0x52, 0x49, 0x46, 0x46, 0, 0, 0, 0, 0x57, 0x41, 0x56, 0x45]))).toBeUndefined();
});

test("what is neither a text nor a picture, or too large, is refused in a sentence", async () => {
  await expect(readAttachment(new File([Uint8Array.from([0xff, 0xfe, 0])], "a.bin"), "1")).rejects.toThrow("a.bin is neither");
  const large = { name: "a.txt", size: LARGEST + 1 } as File;
  await expect(readAttachment(large, "1")).rejects.toThrow("larger than 5 MiB");
});

test("there is a limit to all of them together", () => {
  const of = (size: number): Attached => ({ key: "", name: "a", size, body: { kind: "text", name: "a", text: "" } });
  expect(tooMuch([of(1)])).toBeUndefined();
  expect(tooMuch(Array.from({ length: 11 }, () => of(1)))).toContain("At most 10");
  expect(tooMuch(Array.from({ length: 5 }, () => of(LARGEST)))).toContain("20 MiB");
});

test("many bytes are written in base 64 as few are", () => {
  const bytes = new Uint8Array(100_000).map((_, index) => index % 251);
  expect(Uint8Array.from(atob(base64(bytes)), (letter) => letter.charCodeAt(0))).toEqual(bytes);
});

/* What is sent along with a prompt: files that were picked, pasted or dropped, read and looked at before they are sent. */
import type { NewAttachment } from "../api/types.ts";
import { words } from "../text/words.ts";

/** The same limits as the server's, so that nobody sends for nothing. */
export const MOST = 10;
export const LARGEST = 5 * 1024 * 1024;
export const LARGEST_TOGETHER = 20 * 1024 * 1024;

const IMAGES: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Something to send along, as it is shown before it is sent. */
export interface Attached {
  /** Tells it from others of the same name. */
  key: string;
  name: string;
  size: number;
  body: NewAttachment;
}

export const isImage = (attached: Attached): boolean => attached.body.kind === "image";

/** Reads a file; fails with a sentence if it cannot be sent along. */
export async function readAttachment(file: File, key: string): Promise<Attached> {
  const name = file.name === "" ? "image" : file.name;
  if (file.size > LARGEST) throw new Error(words.attachments.tooLarge(name));
  const bytes = new Uint8Array(await file.arrayBuffer());
  const shown = { key, name, size: bytes.length };
  const type = imageType(bytes);
  if (type !== undefined) return { ...shown, body: { kind: "image", name, media_type: type, data: base64(bytes) } };
  const text = textOf(bytes);
  if (text === undefined) throw new Error(words.attachments.neither(name));
  return { ...shown, body: { kind: "text", name, text } };
}

/** Why these cannot be sent along together; nothing if they can. */
export function tooMuch(attached: readonly Attached[]): string | undefined {
  if (attached.length > MOST) return words.attachments.tooMany(MOST);
  const size = attached.reduce((sum, each) => sum + each.size, 0);
  return size > LARGEST_TOGETHER ? words.attachments.tooMuch : undefined;
}

/** The kind of picture that these bytes begin like: a name or a type can say anything. */
export function imageType(bytes: Uint8Array): string | undefined {
  const begins = (at: number, ...expected: number[]) => expected.every((byte, index) => bytes[at + index] === byte);
  const [png, jpeg, gif, webp] = IMAGES;
  if (begins(0, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return png;
  if (begins(0, 0xff, 0xd8, 0xff)) return jpeg;
  if (begins(0, 0x47, 0x49, 0x46, 0x38)) return gif;
  if (begins(0, 0x52, 0x49, 0x46, 0x46) && begins(8, 0x57, 0x45, 0x42, 0x50)) return webp;
  return undefined;
}

function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Bytes in base 64, a piece at a time: a call takes only so many arguments. */
export function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

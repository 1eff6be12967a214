import { expect, test } from "vitest";
import { frameReader } from "./sse.ts";

const STREAM = [
  "event: hello\ndata: {\"seq\":7}\n\n",
  ": heartbeat\n\n",
  "id: 8\nevent: ask.opened\ndata: {\"seq\":8,\ndata: \"ask\":\"ask_1\"}\n\n",
  "event: delta\r\ndata:no blank\r\n\r\n",
  "data: bare\n\n",
].join("");

const FRAMES = [
  { event: "hello", data: '{"seq":7}' },
  { event: "ask.opened", data: '{"seq":8,\n"ask":"ask_1"}' },
  { event: "delta", data: "no blank" },
  { event: "message", data: "bare" },
];

test("frames are the same however the stream is cut into pieces", () => {
  for (let size = 1; size <= STREAM.length; size += 1) {
    const read = frameReader();
    const frames = [];
    for (let at = 0; at < STREAM.length; at += size) frames.push(...read(STREAM.slice(at, at + size)));
    expect(frames).toEqual(FRAMES);
  }
});

test("a frame that is not finished is not given out", () => {
  const read = frameReader();
  expect(read("data: half")).toEqual([]);
  expect(read("\n")).toEqual([]);
  expect(read("\n")).toEqual([{ event: "message", data: "half" }]);
});

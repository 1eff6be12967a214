/* What is said around sessions: what was said and done in them, what is said next, which agents there are. */
import { plural } from "../phrases.ts";

export const sessions = {
  sessions: {
    title: "Sessions",
    none: "No session yet.",
    noneFits: "No session is called like that.",
    copy: "Copy link",
    copied: "Copied",
    copyHint: "Open it on another device that is paired: it goes on there as here",
    choose: "Choose a session to read it.",
    missing: "There is no such session.",
    untitled: "New session",
    subAgent: "sub-agent",
    openAsks: (count: number) => plural(count, "open ask"),
    newest: "Go to the newest",
    stop: "Stop",
    failed: "The turn failed:",
    cancelled: "The turn was cancelled.",
    denied: "A denial ended the turn.",
    noPrompt: "You can read this session but not prompt it: your grant `prompt` is missing.",
    editors: "This session is an editor's. Its asks can be answered here; it is prompted and cancelled in the editor.",
    engineGone: "The engine that held this session is gone.",
    activities: { idle: "idle", busy: "working", gone: "its engine is gone" },
  },

  transcript: {
    title: "Transcript",
    prompt: "Prompt:",
    followUp: "Countersign, with the reason of a denial",
    thought: "Thought",
    plan: "Plan",
    todos: "To do",
    steps: { pending: "to do", in_progress: "being done", completed: "done", cancelled: "dropped" },
    calls: { pending: "announced", running: "running or waiting for leave", completed: "done", failed: "failed or denied" },
    subAgent: "Sub-agent:",
    copy: "Copy code",
    copied: "Copied",
    input: "Input",
    output: "Output",
  },

  attachments: {
    pick: "Files to attach",
    attach: "Attach files",
    title: "Attachments",
    remove: (name: string) => `Remove ${name}`,
    attached: "Attached:",
    onlyName: (size: string) => `${size}, only its name was sent`,
    show: "Show image",
    hide: "Hide image",
    tooLarge: (name: string) => `${name} is larger than 5 MiB.`,
    neither: (name: string) => `${name} is neither a text nor a png, jpeg, gif or webp image.`,
    tooMany: (most: number) => `At most ${most} can be sent along.`,
    tooMuch: "Together they are larger than 20 MiB.",
    unread: "The image could not be read.",
    reading: "Reading the image…",
  },

  composer: {
    notSent: "It was not sent.",
    prompt: "Prompt",
    promptHint: "Say something to the agent…",
    queueHint: "The agent is at work. What you send waits for its turn…",
    begin: "Ask an agent to do something",
    beginHint: "Ask an agent to do something…",
    in: "in",
    with: "with",
    usual: "the usual agent",
    commands: "Commands of the agent",
  },

  search: {
    label: "Search sessions and transcripts",
    hint: "Search titles and transcripts",
    title: "In transcripts",
    looking: "Looking…",
    further: "Look further back",
    found: (count: number, looked: number, complete: boolean) =>
      `${count === 0 ? "Nothing" : plural(count, "place")} in ${complete ? "all" : "the newest"} ${looked.toLocaleString("en")} pieces.`,
    kinds: {
      prompt: "prompt",
      attachment: "attachment",
      text: "said by the agent",
      thought: "thought",
      tool: "tool call",
      plan: "plan",
      notice: "notice",
    },
  },

  queue: {
    title: "Prompts that wait",
    queued: "Queued",
    by: "by",
    takeBack: "Take back",
    takeBackOf: (text: string) => `Take back: ${text}`,
  },

  family: {
    title: (count: number) => plural(count, "sub-agent"),
    working: (count: number) => `${count} working`,
  },

  earlier: {
    open: "Earlier sessions…",
    title: "Earlier sessions",
    of: "of",
    asking: "Asking the agent…",
    none: "It lists none in this workspace.",
    more: "There are more; these are the first.",
    known: "known here",
  },

  engines: {
    title: "Workspaces",
    states: {
      absent: "is missing",
      starting: "is starting",
      ready: "is ready",
      unreachable: "cannot be reached",
      gone: "has ended",
    },
    none: "no engine of its own",
    in: "in",
    relay: "relay",
    relayed: "Consent is relayed.",
    relayedMeans: "The engine itself holds the agent to your answers.",
    relayedNot:
      "That is no wall against a hostile agent: it could answer itself behind the engine's back. An answer that did not come from here is noticed, raised as an alarm, and the session is stopped.",
  },

  settings: { notSet: "It was not set.", title: "Settings of this session", mode: "Mode", model: "Model" },
} as const;

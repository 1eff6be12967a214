/* What is said around the pages: the way in, navigation, alarms, keys, what can be wished of this browser. */
import { plural } from "../phrases.ts";

export const frame = {
  reading: "Reading the ledger…",
  cancel: "Cancel",
  close: "Close",
  send: "Send",

  server: {
    slow: "The server did not answer in time.",
    unreachable: "The server cannot be reached.",
    noJson: "The server sent something that is not JSON.",
    status: (status: number) => `The server answered with status ${status}.`,
  },

  shell: {
    name: "Countersign",
    pages: "Pages",
    sessions: "Sessions",
    openAsks: (count: number) => plural(count, "open ask"),
    help: "Keyboard help",
    lost: "Connection lost. What you see may be out of date. Reconnecting…",
    connection: { connecting: "connecting…", live: "live", lost: "reconnecting…" },
    title: (count: number) => (count === 0 ? "Countersign" : `(${count}) Countersign`),
    newAsk: (who: string, want: string, what: string) => `New ask: ${who} ${want}. ${what}`,
  },

  gate: {
    looking: "Looking who is here…",
    pairing: "Pairing this browser…",
    unpaired: "This browser is not paired yet",
    how: "Asks are answered only by somebody who may. On the machine where Countersign runs, get a one-time link:",
    command: "countersign pair",
    paste: "Open the link here, or paste it below. It works once, within five minutes.",
    code: "Link or code",
    pair: "Pair this browser",
    again: "Try again",
    signedOut: "You signed out. This browser needs a new link to come back.",
  },

  account: {
    of: (name: string) => `Account of ${name}`,
    pairedAs: "Paired as",
    grants: "You may:",
    noGrants: "nothing",
    only: (workspace: string) => `In the workspace ${workspace} only.`,
    signOut: "Sign out",
  },

  alarms: { title: "Alarms", alarm: "Alarm", ask: "The ask", session: "The session", dismiss: "Dismiss" },

  help: {
    title: "Keys",
    armed: "An ask that has just appeared takes answers after a moment, so that no key meant for another hits it.",
    keys: [
      { keys: ["j", "k"], does: "Next ask, previous ask" },
      { keys: ["Enter"], does: "Open the ask" },
      { keys: ["a"], does: "Allow once; send the answer to a question" },
      { keys: ["1", "9"], does: "First to ninth choice of a question" },
      { keys: ["Shift", "a"], does: "Always for…" },
      { keys: ["d"], does: "Deny: write a reason, Enter sends it" },
      { keys: ["x"], does: "Select the ask, to answer several together" },
      { keys: ["u"], does: "Undo the answer that is not sent yet" },
      { keys: ["/"], does: "Search" },
      { keys: ["Esc"], does: "Back, or stop selecting" },
      { keys: ["?"], does: "This help" },
    ],
  },

  preferences: {
    title: "This browser",
    open: "Settings of this browser…",
    about: "Kept in this browser alone.",
    theme: "Colours",
    themes: { system: "As the system", light: "Light", dark: "Dark" },
    undo: "Time to undo an answer",
    undoHint: "An answer is held back for so long before it is sent. Leaving the page meanwhile sends nothing.",
    undos: (seconds: number) => (seconds === 0 ? "Off" : `${seconds} s`),
    remind: "Remind of asks that wait",
    remindHint: "Said on the page and by a screen reader. That an ask is about to run out is always said.",
    reminds: (minutes: number) => (minutes === 0 ? "Off" : `After ${minutes} min`),
    keys: "Keys",
    keysHint: "Single letters such as `a` and `j`. Enter and Esc always work.",
    keyChoices: { on: "On", off: "Off" },
    diff: "Differences on a wide screen",
  },
} as const;

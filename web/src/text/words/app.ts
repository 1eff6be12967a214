/* What is said of the app as something that is installed: its versions, and telling people who do not look. */
export const app = {
  update: { ready: "A newer version of this page is ready.", take: "Use it now" },

  long: {
    more: (shown: number, all: number) => `The first ${shown} of ${all} characters are shown. Show more`,
    earlier: (count: number) => `… ${count} characters before this are shown when it is finished.`,
  },

  readBack: "Show what was said before",

  push: {
    title: "Tell this device of new asks",
    off: "Off",
    on: "On",
    hint: "A notification says that an agent asks, and nothing of what. Opening it needs a browser that is paired.",
    failed: (problem: string) => `That did not work: ${problem}`,
    standing: {
      unknown: "Looking how it stands…",
      unable:
        "This browser cannot be told here. It needs an address with https and, on an iPhone or iPad, the app on the home screen.",
      refused: "Notifications of this page are blocked in the settings of the browser.",
      off: "",
      on: "",
    },
  },
} as const;

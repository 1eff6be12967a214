/* What a notification says on a locked screen: that somebody is waited for, and nothing of what is asked. */
export const pushed = {
  title: "An agent asks",
  body: "Open Countersign to answer.",
  other: "Something happened. Open Countersign to see it.",
} as const;

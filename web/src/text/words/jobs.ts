/* What is said around jobs. */
export const jobs = {
  jobs: {
    title: "Jobs",
  },
} as const;

/* What a session is doing, in words. */
export const ACTIVITIES = { idle: "idle", busy: "working", gone: "its engine is gone" } as const;

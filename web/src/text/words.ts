/*
 * The page's own words, in one place, so that they can be said in another language: `words/` has them by what they are
 * about. `backticks` mark what is to be read word for word. How an ask and its answer are put into words is in
 * `phrases.ts` and `wants.ts`; what agents say is never here.
 */
import { access } from "./words/access.ts";
import { app } from "./words/app.ts";
import { asks } from "./words/asks.ts";
import { frame } from "./words/frame.ts";
import { jobs } from "./words/jobs.ts";
import { ledger } from "./words/ledger.ts";
import { sessions } from "./words/sessions.ts";
import { workspaces } from "./words/workspaces.ts";

export const words = { ...frame, ...app, ...asks, ...sessions, ...jobs, ...workspaces, ...access, ...ledger };

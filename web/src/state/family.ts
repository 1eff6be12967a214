/* Which session started which. Pure: values in, values out. */
import type { SessionView } from "../api/types.ts";

export interface Member {
  session: SessionView;
  children: Member[];
}

/** Sub-agents of sub-agents go so deep; what an engine says of deeper ones is not drawn. */
const DEEPEST = 8;

/** The family of a session, from the one that nobody started; nothing if the session is not known. */
export function familyOf(sessions: Readonly<Record<string, SessionView>>, id: string): Member | undefined {
  let root = sessions[id];
  for (let step = 0; step < DEEPEST && root?.parent !== undefined && sessions[root.parent] !== undefined; step += 1) root = sessions[root.parent];
  if (root === undefined) return undefined;
  const children = childrenOf(sessions);
  const grow = (session: SessionView, depth: number): Member => ({
    session,
    children: depth === DEEPEST ? [] : (children.get(session.id) ?? []).map((child) => grow(child, depth + 1)),
  });
  return grow(root, 0);
}

/** The sessions as a list shows them: those that nobody known started, in their order, each with how deep it stands below. */
export function asTree(sessions: readonly SessionView[]): { session: SessionView; depth: number }[] {
  const known = Object.fromEntries(sessions.map((session) => [session.id, session]));
  const children = childrenOf(known);
  const listed: { session: SessionView; depth: number }[] = [];
  const seen = new Set<string>();
  const add = (session: SessionView, depth: number) => {
    if (seen.has(session.id) || depth > DEEPEST) return;
    seen.add(session.id);
    listed.push({ session, depth });
    for (const child of children.get(session.id) ?? []) add(child, depth + 1);
  };
  for (const session of sessions) if (session.parent === undefined || known[session.parent] === undefined) add(session, 0);
  // Whoever names each other as parents is still there.
  for (const session of sessions) add(session, 0);
  return listed;
}

/** Who was started by whom, the first first. */
function childrenOf(sessions: Readonly<Record<string, SessionView>>): Map<string, SessionView[]> {
  const children = new Map<string, SessionView[]>();
  for (const session of Object.values(sessions).toSorted((a, b) => a.started_at.localeCompare(b.started_at))) {
    if (session.parent === undefined) continue;
    children.set(session.parent, [...(children.get(session.parent) ?? []), session]);
  }
  return children;
}

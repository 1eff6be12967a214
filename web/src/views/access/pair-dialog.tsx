/*
 * Pairs a phone: a one-time link for somebody, drawn as a QR code. The code is in the link's fragment, which no server and
 * no log gets to see; it is gone when the dialog is closed.
 */
import { createEffect, createMemo, createSignal, createUniqueId, Match, onCleanup, onMount, Show, Switch } from "solid-js";
import { makePairing, readTokens, sentenceOf } from "../../api/client.ts";
import type { PairingView, Role, Token } from "../../api/types.ts";
import { NameField, RoleChoice } from "../../parts/choices.tsx";
import { CopyField } from "../../parts/copy-field.tsx";
import { Alert, Check } from "../../parts/icons.tsx";
import { Problem } from "../../parts/problem.tsx";
import { QrPicture } from "../../parts/qr-picture.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { Visible } from "../../parts/visible.tsx";
import { now } from "../../state/clock.ts";
import { me } from "../../state/identity.ts";
import { linkForPhone } from "../../state/pairing-link.ts";
import { PEOPLES_ROLES } from "../../state/roles.ts";
import { duration } from "../../text/duration.ts";
import { words } from "../../text/words.ts";
import { deviceOf } from "./devices.tsx";

/** How often it is looked whether somebody has come. */
const LOOK_MS = 1500;

export function PairDialog(props: { close: () => void; paired: () => void }) {
  const title = createUniqueId();
  const [name, setName] = createSignal(me().actor.name);
  // What a phone is for most of all; whoever wants more says so.
  const [role, setRole] = createSignal<Role>("approver");
  const [pairing, setPairing] = createSignal<PairingView & { known: ReadonlySet<string> }>();
  const [came, setCame] = createSignal<Token>();
  const [problem, setProblem] = createSignal<string>();
  let dialog: HTMLDialogElement | undefined;
  onMount(() => dialog?.showModal());

  const make = async () => {
    try {
      setProblem(undefined);
      const known = new Set((await readTokens()).map((token) => token.id));
      setPairing({ ...(await makePairing(name().trim(), role())), known });
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  const left = () => Math.max(0, Date.parse(pairing()?.expires_at ?? "") - now());
  // The time goes on every second; that it is over happens once.
  const isOver = createMemo(() => left() === 0);

  createEffect(() => {
    const made = pairing();
    if (made === undefined || came() !== undefined || isOver()) return;
    const timer = setInterval(() => void look(made), LOOK_MS);
    onCleanup(() => clearInterval(timer));
  });
  const look = async ({ known }: { known: ReadonlySet<string> }) => {
    try {
      const tokens = await readTokens();
      const newcomer = tokens.find((token) => token.kind === "browser" && token.name === name().trim() && !known.has(token.id));
      if (newcomer === undefined) return;
      setCame(newcomer);
      props.paired();
    } catch {
      // It is looked again.
    }
  };
  const again = () => {
    setCame(undefined);
    setPairing(undefined);
  };

  return (
    <dialog class="pair-dialog" ref={(element) => (dialog = element)} aria-labelledby={title} onClose={() => props.close()}>
      <h2 id={title}>{words.pairing.title}</h2>
      <Show
        when={pairing()}
        fallback={
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void make();
            }}
          >
            <p class="muted">{words.pairing.about}</p>
            <NameField label={words.pairing.name} hint={words.pairing.nameHint} name={name()} set={setName} />
            <RoleChoice legend={words.pairing.role} roles={PEOPLES_ROLES} role={role()} set={setRole} />
            <Problem sentence={problem()} />
            <div class="dialog-buttons">
              <button type="button" onClick={() => dialog?.close()}>
                {words.cancel}
              </button>
              <button type="submit" class="primary">
                {words.pairing.make}
              </button>
            </div>
          </form>
        }
      >
        {(made) => (
          <div class="pair-made">
            <p class="muted">
              <Visible text={words.pairing.as(name().trim(), words.roles.names[role()])} />
            </p>
            <Switch fallback={<Shown pairing={made()} />}>
              <Match when={came()}>
                {(token) => (
                  <output class="note pair-done">
                    <Check />
                    <span>
                      <Visible text={words.pairing.done(token().name, deviceOf(token()))} />
                    </span>
                  </output>
                )}
              </Match>
              <Match when={isOver()}>
                <output class="note note-warning">
                  <Alert />
                  <span>{words.pairing.over}</span>
                </output>
              </Match>
            </Switch>
            <Show when={came() === undefined && !isOver()}>
              <p class="pair-wait muted">
                <span class="spinner" aria-hidden="true" /> {words.pairing.waiting} <time>{words.pairing.left(duration(left()))}</time>
              </p>
            </Show>
            <div class="dialog-buttons">
              <button type="button" onClick={again}>
                {words.pairing.again}
              </button>
              <button type="button" class="primary" onClick={() => dialog?.close()}>
                {words.close}
              </button>
            </div>
          </div>
        )}
      </Show>
    </dialog>
  );
}

/** The link, as a phone can take it; or why it cannot. */
function Shown(props: { pairing: PairingView }) {
  return (
    <Show
      when={linkForPhone(props.pairing, location)}
      fallback={
        <>
          <div class="note note-warning">
            <Alert />
            <div class="pair-loopback">
              <strong>{words.pairing.loopbackTitle}</strong>
              <p>
                <Sentence text={words.pairing.loopback} />
              </p>
            </div>
          </div>
          <pre class="code">{words.pairing.setting}</pre>
          <CopyField label={words.pairing.loopbackLink} text={props.pairing.link} />
        </>
      }
    >
      {(link) => (
        <>
          <figure class="pair-code">
            <QrPicture text={link()} />
            <figcaption>{words.pairing.scan}</figcaption>
          </figure>
          <CopyField label={words.pairing.link} text={link()} />
        </>
      )}
    </Show>
  );
}

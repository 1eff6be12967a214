/* Who is signed in where: paired browsers, this one among them, and the way to pair another. */
import { createMemo, createSignal, Show } from "solid-js";
import { readTokens, revokeToken } from "../../api/client.ts";
import type { Token } from "../../api/types.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Desk, Phone } from "../../parts/icons.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { Ago } from "../../parts/time.tsx";
import { Visible } from "../../parts/visible.tsx";
import { now } from "../../state/clock.ts";
import { holds, me, signOut } from "../../state/identity.ts";
import { createReading } from "../../state/reading.ts";
import { roleOf } from "../../state/roles.ts";
import { tokensOf } from "../../state/tokens.ts";
import { words } from "../../text/words.ts";
import { PairDialog } from "./pair-dialog.tsx";
import { Records } from "./records.tsx";
import { RoleChip } from "./roles.tsx";

export function Devices() {
  return (
    <Show when={holds("administer")} fallback={<OwnDevice />}>
      <AllDevices />
    </Show>
  );
}

/** What somebody sees who may not see the others. */
function OwnDevice() {
  const role = () => roleOf(me().grants);
  return (
    <section class="records" aria-labelledby="devices-title">
      <h2 id="devices-title">{words.devices.ownTitle}</h2>
      <p>{words.devices.own(me().actor.name, words.roles.names[role() ?? "viewer"])}</p>
      <p class="muted">
        <Sentence text={words.devices.others} />
      </p>
    </section>
  );
}

function AllDevices() {
  const tokens = createReading(() => undefined, readTokens);
  const [isPairing, setPairing] = createSignal(false);
  const [leaving, setLeaving] = createSignal<Token>();
  const sorted = createMemo(() => tokensOf(tokens.value() ?? [], "browser", now()));
  const leave = async (token: Token) => {
    if (token.id === me().token) return signOut();
    await revokeToken(token.id);
    await tokens.again();
  };
  return (
    <Records
      id="devices-title"
      title={words.devices.title}
      about={<p class="muted">{words.devices.about}</p>}
      make={
        <button type="button" class="primary" aria-haspopup="dialog" onClick={() => setPairing(true)}>
          <Phone /> {words.devices.pair}
        </button>
      }
      reading={tokens}
      records={sorted()}
      none={words.devices.none}
      row={(token, isValid) => <Device token={token} leave={isValid ? () => setLeaving(token) : undefined} />}
    >
      <Show when={isPairing()}>
        <PairDialog close={() => setPairing(false)} paired={() => void tokens.again()} />
      </Show>
      <Show when={leaving()}>
        {(token) => (
          <Confirm isDangerous title={words.devices.sureTitle} act={words.devices.signOut} perform={() => leave(token())} close={() => setLeaving(undefined)}>
            <p>
              <Visible text={words.devices.sure(token().name, deviceOf(token()))} />
            </p>
            <Show when={token().id === me().token}>
              <p class="note note-warning">{words.devices.sureHere}</p>
            </Show>
          </Confirm>
        )}
      </Show>
    </Records>
  );
}

export function deviceOf(token: Token): string {
  return token.device ?? words.devices.unknown;
}

/** Without a way to leave it is one that is over. */
function Device(props: { token: Token; leave: (() => void) | undefined }) {
  const isHandheld = () => /Android|iPhone/.test(props.token.device ?? "");
  return (
    <li class="record" data-token={props.token.id}>
      <span class="record-icon">{isHandheld() ? <Phone /> : <Desk />}</span>
      <div class="record-body">
        <p class="record-name">
          <strong>
            <Visible text={props.token.name} />
          </strong>{" "}
          <span class="muted">{deviceOf(props.token)}</span>
        </p>
        <p class="record-chips">
          <RoleChip grants={props.token.grants} />
          <Show when={props.token.id === me().token}>
            <span class="chip chip-here">{words.devices.here}</span>
          </Show>
        </p>
        <p class="record-facts">
          <span>
            {words.devices.paired} <Ago at={props.token.made_at} />
          </span>
          <Show when={props.token.seen_at} fallback={<span>{words.devices.never}</span>}>
            {(at) => (
              <span>
                {words.devices.seen} <Ago at={at()} />
              </span>
            )}
          </Show>
          <Show when={props.leave === undefined}>
            <span>
              <Show when={props.token.revoked_at} fallback={words.devices.ended}>
                {(at) => (
                  <>
                    {words.access.revoked} <Ago at={at()} />
                  </>
                )}
              </Show>
            </span>
          </Show>
        </p>
      </div>
      <Show when={props.leave}>
        {(leave) => (
          <button
            type="button"
            class="record-act"
            aria-haspopup="dialog"
            aria-label={words.devices.signOutOf(props.token.name, deviceOf(props.token))}
            onClick={() => leave()()}
          >
            {words.devices.signOut}
          </button>
        )}
      </Show>
    </li>
  );
}

/* What a job was told, and how it was handed in. */
import { Show, type JSX } from "solid-js";
import type { JobView } from "../api/types.ts";
import { fragmentOf } from "../router.ts";
import { visible } from "../text/visible.ts";
import { words } from "../text/words.ts";
import { SessionLink } from "./requester.tsx";
import { At } from "./time.tsx";
import { Visible } from "./visible.tsx";

const NUMBER = new Intl.NumberFormat("en");

export function JobFacts(props: { job: JobView }) {
  const usage = () => {
    const used = props.job.usage;
    if (used === undefined) return undefined;
    const tokens = used.used_tokens ?? (used.input_tokens ?? 0) + (used.output_tokens ?? 0);
    const cost = used.cost === undefined ? [] : [`${used.cost.amount.toFixed(2)} ${visible(used.cost.currency)}`];
    return [words.job.tokens(NUMBER.format(tokens)), ...cost].join(" · ");
  };
  return (
    <details class="job-part">
      <summary>
        <h3>{words.job.facts}</h3>
      </summary>
      <dl class="job-facts">
        <Fact name={words.job.prompt}>
          <span class="said-text">
            <Visible text={props.job.prompt} />
          </span>
        </Fact>
        <Fact name={words.job.directory}>
          <span class="path">
            <Visible text={props.job.directory} />
          </span>
        </Fact>
        <Text name={words.job.model} text={props.job.model} />
        <Text name={words.job.agent} text={props.job.agent} />
        <Text name={words.job.mode} text={props.job.mode} />
        <Fact name={words.job.handedIn}>
          <At at={props.job.created_at} /> {words.job.by} <Visible text={props.job.by.name} />
        </Fact>
        <Moment name={words.job.started} at={props.job.started_at} />
        <Moment name={words.job.ended} at={props.job.ended_at} />
        <Moment name={words.job.deadline} at={props.job.deadline} />
        <Fact name={words.job.priority}>{props.job.priority}</Fact>
        <Fact name={words.job.onAsk}>{words.job.onAsks[props.job.on_ask]}</Fact>
        <Fact name={words.job.access}>{words.job.accesses[props.job.access]}</Fact>
        <Show when={props.job.resume}>
          {(resume) => {
            const earlier = resume();
            return (
              <Fact name={words.job.resumes}>
                {"job" in earlier ? <a href={fragmentOf({ page: "job", job: earlier.job })}>{earlier.job}</a> : <SessionLink session={earlier.session} />}
              </Fact>
            );
          }}
        </Show>
        <Text name={words.job.usage} text={usage()} />
        <Fact name={words.job.id}>
          <code>{props.job.id}</code>
        </Fact>
      </dl>
    </details>
  );
}

function Fact(props: { name: string; children: JSX.Element }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

function Text(props: { name: string; text: string | undefined }) {
  return (
    <Show when={props.text}>
      {(text) => (
        <Fact name={props.name}>
          <Visible text={text()} />
        </Fact>
      )}
    </Show>
  );
}

function Moment(props: { name: string; at: string | undefined }) {
  return (
    <Show when={props.at}>
      {(at) => (
        <Fact name={props.name}>
          <At at={at()} />
        </Fact>
      )}
    </Show>
  );
}

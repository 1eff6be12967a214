/* The skills of a workspace: made, changed and deleted. */
import { createSignal, For, Show } from "solid-js";
import { readSkill, sentenceOf } from "../../api/client.ts";
import type { NewChange, SkillDetail, SkillView } from "../../api/types.ts";
import { words } from "../../text/words.ts";
import { Problem } from "../problem.tsx";
import { Visible } from "../visible.tsx";
import { Act, Nothing, Reviewing } from "./acts.tsx";
import { ChangeForm, TextArea, TextField } from "./form.tsx";

export function Skills(props: { workspace: string; skills: readonly SkillView[]; mayWrite: boolean }) {
  const [edited, setEdited] = createSignal<SkillDetail | "new">();
  const [deleted, setDeleted] = createSignal<NewChange>();
  const [problem, setProblem] = createSignal<string>();
  const edit = async (name: string) => {
    try {
      setProblem(undefined);
      setEdited(await readSkill(props.workspace, name));
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  return (
    <section>
      <Problem sentence={problem()} />
      <ul class="held">
        <For each={props.skills} fallback={<Nothing text={words.skills.none} />}>
          {(skill) => (
            <li>
              <div class="held-text">
                <strong>
                  <Visible text={skill.name} />
                </strong>
                <Show when={skill.belongs === "user"}>
                  {" "}
                  <span class="chip">{words.holdings.yours}</span>
                </Show>
                <p class="muted">
                  <Visible text={skill.description} />
                </p>
              </div>
              <Show when={props.mayWrite && skill.belongs === "workspace"}>
                <div class="held-acts">
                  <Act word={words.holdings.edit} label={words.holdings.editNamed(skill.name)} act={() => void edit(skill.name)} />
                  <Act word={words.holdings.remove} label={words.holdings.removeNamed(skill.name)} act={() => setDeleted({ kind: "delete_skill", name: skill.name })} />
                </div>
              </Show>
            </li>
          )}
        </For>
      </ul>
      <Show when={props.mayWrite}>
        <button type="button" onClick={() => setEdited("new")}>
          {words.skills.add}
        </button>
      </Show>
      <Show when={edited()} keyed>
        {(skill) => <SkillForm workspace={props.workspace} skill={skill === "new" ? undefined : skill} close={() => setEdited(undefined)} />}
      </Show>
      <Reviewing workspace={props.workspace} change={deleted()} forget={() => setDeleted(undefined)} />
    </section>
  );
}

function SkillForm(props: { workspace: string; skill: SkillDetail | undefined; close: () => void }) {
  const [name, setName] = createSignal(props.skill?.name ?? "");
  const [description, setDescription] = createSignal(props.skill?.description ?? "");
  const [body, setBody] = createSignal(props.skill?.body ?? "");
  return (
    <ChangeForm
      title={props.skill === undefined ? words.skills.new : words.holdings.editNamed(props.skill.name)}
      workspace={props.workspace}
      read={props.skill?.digest ?? "none"}
      change={() => ({ kind: "set_skill", name: name(), description: description(), body: body() })}
      close={props.close}
    >
      <Show when={props.skill === undefined}>
        <TextField label={words.skills.name} hint={words.skills.nameHint} value={name()} write={setName} isRequired isCode />
      </Show>
      <TextArea label={words.skills.description} value={description()} write={setDescription} isRequired rows={2} />
      <TextArea label={words.skills.body} hint={words.skills.bodyHint} value={body()} write={setBody} isRequired isCode rows={12} />
    </ChangeForm>
  );
}

/* The skills of a workspace: made, changed and deleted. */
import { createSignal, For, Show } from "solid-js";
import { readSkill, sentenceOf } from "../../api/client.ts";
import type { NewChange, SkillDetail, SkillView } from "../../api/types.ts";
import { words } from "../../text/words.ts";
import { Problem } from "../problem.tsx";
import { Sentence } from "../sentence.tsx";
import { Visible } from "../visible.tsx";
import { ChangeDialog } from "./change-dialog.tsx";
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
        <For each={props.skills} fallback={<li class="rows-empty">{words.skills.none}</li>}>
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
                  <button type="button" class="quiet" aria-label={words.holdings.editNamed(skill.name)} onClick={() => void edit(skill.name)}>
                    {words.holdings.edit}
                  </button>
                  <button
                    type="button"
                    class="quiet"
                    aria-label={words.holdings.removeNamed(skill.name)}
                    onClick={() => setDeleted({ kind: "delete_skill", name: skill.name })}
                  >
                    {words.holdings.remove}
                  </button>
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
      <Show when={deleted()} keyed>
        {(change) => (
          <ChangeDialog workspace={props.workspace} change={change} done={() => setDeleted(undefined)} close={() => setDeleted(undefined)} />
        )}
      </Show>
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

/** What is said where there is nothing yet, with its marks. */
export function Nothing(props: { text: string }) {
  return (
    <li class="rows-empty">
      <Sentence text={props.text} />
    </li>
  );
}

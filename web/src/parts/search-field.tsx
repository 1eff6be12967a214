/* A field to search with: `/` leads to it, Esc empties and leaves it. */
import { bindKeys } from "../state/keys.ts";
import { Search } from "./icons.tsx";

export function SearchField(props: { label: string; hint: string; text: string; write: (text: string) => void }) {
  let field: HTMLInputElement | undefined;
  bindKeys(() => ({ search: () => field?.focus() }));
  return (
    <label class="filter-search">
      <Search />
      <input
        type="search"
        ref={(element) => (field = element)}
        aria-label={props.label}
        placeholder={props.hint}
        autocomplete="off"
        spellcheck={false}
        maxlength="200"
        value={props.text}
        onInput={(event) => props.write(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.preventDefault();
          if (props.text !== "") props.write("");
          event.currentTarget.blur();
        }}
      />
    </label>
  );
}

/* A field that grows with what is written in it; Enter sends, Shift+Enter begins a new line, Esc leaves it. */
export function GrowingField(props: {
  label: string;
  placeholder: string;
  value: string;
  write: (text: string) => void;
  send: () => void;
  disabled?: boolean;
  /** Takes a key before the field does; says whether it has. */
  takesKey?: (key: string) => boolean;
  ref?: (field: HTMLTextAreaElement) => void;
}) {
  const press = (event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }) => {
    const modified = event.shiftKey || event.ctrlKey || event.metaKey || event.altKey;
    if (!event.isComposing && !modified && props.takesKey?.(event.key) === true) {
      event.preventDefault();
      return;
    }
    // Enter that ends a composition chooses a word; it does not send.
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      props.send();
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.currentTarget.blur();
    }
  };
  return (
    <textarea
      class="growing"
      rows="1"
      aria-label={props.label}
      placeholder={props.placeholder}
      value={props.value}
      disabled={props.disabled === true}
      ref={(field) => props.ref?.(field)}
      onInput={(event) => props.write(event.currentTarget.value)}
      onKeyDown={press}
    />
  );
}

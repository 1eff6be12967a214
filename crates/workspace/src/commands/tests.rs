use super::*;

#[test]
fn a_command_is_read_back_as_it_was_written() {
    let draft = CommandDraft {
        name: "/ship".to_owned(),
        template: "  Ship $ARGUMENTS \n".to_owned(),
        description: Some("Ship: it".to_owned()),
        agent: Some("build".to_owned()),
        model: None,
        subtask: None,
    };
    let (file, text) = draft.compose().unwrap();
    assert_eq!(file, "ship.md");
    assert_eq!(
        text,
        "---\nname: ship\ndescription: \"Ship: it\"\nagent: build\nsubtask: false\n---\n\nShip $ARGUMENTS\n"
    );
    let read = parse(&file, text.into_bytes(), Scope::Project).unwrap();
    let written = serde_json::to_string(&read).unwrap();
    assert_eq!(
        written,
        "{\"name\":\"ship\",\"description\":\"Ship: it\",\"template\":\"Ship $ARGUMENTS\",\"agent\":\"build\",\"model\":null,\"subtask\":false,\"scope\":\"workspace\"}"
    );
}

use super::*;

fn form() -> Value {
    json!({
        "mode": "form",
        "sessionId": "s",
        "message": "How shall it be done?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "count": { "type": "integer", "minimum": 1, "maximum": 9 },
                "database": { "type": "string", "title": "Database", "oneOf": [
                    { "const": "pg", "title": "PostgreSQL", "description": "for teams" },
                    { "const": "lite", "title": "SQLite" },
                ] },
                "fast": { "type": "boolean" },
                "name": { "type": "string" },
                "parts": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] } },
                "ratio": { "type": "number" },
            },
            "required": ["count", "database", "fast", "parts", "ratio"],
        },
    })
}

fn id() -> RpcId {
    RpcId::from_text("4").unwrap()
}

fn ask(params: &Value) -> Vec<Question> {
    let ask = elicitation_ask(&id(), &Params::of(params), "fallback").unwrap();
    assert_eq!(ask.person, Some(PersonNeeded::Question));
    match ask.subject {
        Subject::Question { questions } => questions,
        Subject::Permission { .. } | Subject::WorkspaceWrite { .. } => {
            panic!("a question became something else")
        }
    }
}

fn answered(params: &Value, choices: &[&[&str]]) -> Result<Value, UnfitForm> {
    let choices: Vec<Vec<String>> = choices
        .iter()
        .map(|part| part.iter().map(|text| (*text).to_owned()).collect())
        .collect();
    let line = line(&id(), params, Said::Choices(&choices))?;
    Ok(serde_json::from_slice::<Value>(&line).unwrap()["result"].take())
}

#[test]
fn a_form_becomes_a_question_with_a_part_for_each_field() {
    let questions = ask(&form());
    assert_eq!(questions.len(), 6);
    assert_eq!(questions[0].question, "How shall it be done?\ncount");
    assert_eq!(questions[1].header, "Database");
    assert_eq!(questions[1].options[0].label, "PostgreSQL");
    assert_eq!(questions[2].options.len(), 2);
    assert_eq!(questions[3].options[0].label, LEFT_OUT);
    assert!(questions[4].multiple);
}

#[test]
fn the_answers_become_what_the_schema_wants() {
    assert_eq!(
        answered(
            &form(),
            &[
                &["3"],
                &["PostgreSQL"],
                &["yes"],
                &[LEFT_OUT],
                &["a", "b"],
                &["0.5"]
            ]
        ),
        Ok(json!({
            "action": "accept",
            "content": {
                "count": 3, "database": "pg", "fast": true, "parts": ["a", "b"], "ratio": 0.5,
            },
        }))
    );
}

#[test]
fn answers_that_do_not_fit_say_why() {
    let with = |position: usize, text: &str| {
        let mut choices = [
            vec!["3"],
            vec!["lite"],
            vec!["no"],
            vec!["me"],
            vec!["a"],
            vec!["1"],
        ];
        choices[position] = vec![text];
        let choices: Vec<&[&str]> = choices.iter().map(Vec::as_slice).collect();
        answered(&form(), &choices).unwrap_err().to_string()
    };
    assert_eq!(
        with(0, "many"),
        "part 1 of the question takes a whole number"
    );
    assert_eq!(with(0, "10"), "part 1 of the question takes 9 at most");
    assert_eq!(
        with(1, "Oracle"),
        "part 2 of the question does not offer `Oracle`"
    );
    assert_eq!(
        with(2, "perhaps"),
        "part 3 of the question takes `yes` or `no`"
    );
    assert_eq!(with(5, "NaN"), "part 6 of the question takes a number");
    assert_eq!(with(5, LEFT_OUT), "part 6 of the question has no answer");
}

#[test]
fn a_link_is_shown_and_needs_no_values() {
    let link = json!({ "mode": "url", "message": "Sign in", "url": "https://example.org/x", "elicitationId": "e" });
    let questions = ask(&link);
    assert_eq!(questions[0].question, "Sign in\nhttps://example.org/x");
    assert_eq!(
        answered(&link, &[&[DONE]]),
        Ok(json!({ "action": "accept" }))
    );
}

#[test]
fn declining_and_silence_are_told_apart() {
    let told = |said| {
        let line = line(&id(), &form(), said).unwrap();
        serde_json::from_slice::<Value>(&line).unwrap()["result"].take()
    };
    assert_eq!(told(Said::Declined), json!({ "action": "decline" }));
    assert_eq!(told(Said::Nothing), json!({ "action": "cancel" }));
}

#[test]
fn two_choices_with_one_title_stay_apart() {
    let form = json!({ "mode": "form", "message": "", "requestedSchema": { "properties": { "a": {
        "type": "string", "oneOf": [{ "const": "1", "title": "Same" }, { "const": "2", "title": "Same" }],
    } }, "required": ["a"] } });
    assert_eq!(ask(&form)[0].options[1].label, "Same (2)");
    assert_eq!(
        answered(&form, &[&["Same (2)"]]),
        Ok(json!({ "action": "accept", "content": { "a": "2" } }))
    );
}

#[test]
fn a_question_of_no_session_is_one_of_the_session_that_is_open() {
    let ask = elicitation_ask(&id(), &Params::of(&json!({ "message": "?" })), "open").unwrap();
    assert_eq!(ask.session, "open");
}

#[test]
fn what_is_said_in_several_places_is_shown_once() {
    let same = "Which one?";
    let params = json!({
        "sessionId": "s", "mode": "form", "message": same,
        "requestedSchema": { "type": "object", "required": ["one"], "properties": {
            "one": { "type": "string", "title": same, "description": same, "enum": ["a", "b"] },
        } },
    });
    let [question] = &ask(&params)[..] else {
        panic!("it has one part");
    };
    assert_eq!(
        (question.header.as_str(), question.question.as_str()),
        ("", same)
    );
}

//! Questions to the user: by a form if the client shows forms, otherwise in words.

use agent_client_protocol_schema::v1::{
    AgentRequest, CreateElicitationRequest, CreateElicitationResponse, ElicitationAction,
    ElicitationContentValue, ElicitationFormMode, ElicitationSchema, ElicitationSessionScope,
    EnumOption, StringPropertySchema,
};

use super::{Cancelled, Turn};

/// The field of the form that holds the answer.
const FIELD: &str = "answer";

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Chosen(String),
    /// The user does not want to answer.
    Declined,
    /// The client shows no forms, or the mode says that nothing is done.
    NotAsked,
}

impl Answer {
    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::Chosen(answer) => format!("You answered: {answer}"),
            Self::Declined => "You declined to answer.".to_owned(),
            Self::NotAsked => "Nobody could be asked.".to_owned(),
        }
    }
}

impl Turn {
    /// Asks a question. Without choices, the answer is free.
    pub(crate) async fn ask(
        &self,
        question: &str,
        choices: &[String],
    ) -> Result<Answer, Cancelled> {
        if self.only_plans() {
            return Ok(Answer::NotAsked);
        }
        if !self.forms {
            self.say(&in_words(question, choices)).await?;
            return Ok(Answer::NotAsked);
        }
        self.session.keep();
        let scope = ElicitationSessionScope::new(self.session.id.clone());
        let form = ElicitationFormMode::new(scope, form(question, choices));
        let request = CreateElicitationRequest::new(form, question);
        let asked = self
            .connection
            .request(AgentRequest::CreateElicitationRequest(request));
        let Ok(answer) = self.unless_cancelled(asked).await? else {
            return Ok(Answer::Declined);
        };
        match serde_json::from_value::<CreateElicitationResponse>(answer).map(|it| it.action) {
            Ok(ElicitationAction::Accept(accepted)) => {
                let content = accepted.content.unwrap_or_default();
                Ok(match content.get(FIELD) {
                    Some(ElicitationContentValue::String(answer)) => Answer::Chosen(answer.clone()),
                    Some(_) | None => Answer::Declined,
                })
            }
            Ok(ElicitationAction::Cancel) => Err(Cancelled),
            Ok(_) | Err(_) => Ok(Answer::Declined),
        }
    }
}

fn form(question: &str, choices: &[String]) -> ElicitationSchema {
    let field = StringPropertySchema::new().title(question.to_owned());
    let field = if choices.is_empty() {
        field
    } else {
        let offered = choices.iter().map(|choice| EnumOption::new(choice, choice));
        field.one_of(offered.collect::<Vec<_>>())
    };
    ElicitationSchema::new().property(FIELD, field, true)
}

fn in_words(question: &str, choices: &[String]) -> String {
    let mut text =
        format!("{question} I cannot show you a form here, so I go on without an answer.");
    if !choices.is_empty() {
        text.push_str(" These were the choices:");
        for choice in choices {
            text.push_str("\n- ");
            text.push_str(choice);
        }
    }
    text
}

//! What opencode is told in a prompt. Every part has an id that is derived from the message's, so that sending it again
//! says nothing twice.

use serde_json::{Value, json};

/// Something to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    /// Makes a repetition harmless, together with the ids of the parts that are derived from it.
    pub message_id: String,
    /// The words.
    pub text: String,
    /// What comes along with them.
    pub context: Vec<PromptContext>,
    /// The model, as provider and model.
    pub model: Option<(String, String)>,
    /// The agent.
    pub agent: Option<String>,
    /// The variant of the model: how hard it is to think.
    pub variant: Option<String>,
}

/// Something that comes along with the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptContext {
    /// More words, which the model reads and which nobody is shown as said.
    Words(String),
    /// A file with its content.
    File {
        /// What it is called.
        name: String,
        /// What kind of content it has.
        media_type: String,
        /// Its bytes in base 64.
        base64: String,
    },
}

impl PromptText {
    /// The body of the request.
    pub(super) fn body(&self) -> Value {
        let first = self.message_id.replacen("msg_", "prt_", 1);
        let words = json!({ "id": first, "type": "text", "text": self.text });
        // opencode puts the parts of a message in the order of their ids.
        let context = (1..).zip(&self.context).map(|(number, context)| {
            let id = format!("{first}_{number:02}");
            match context {
                PromptContext::Words(text) => {
                    json!({ "id": id, "type": "text", "text": text, "synthetic": true })
                }
                PromptContext::File {
                    name,
                    media_type,
                    base64,
                } => json!({
                    "id": id,
                    "type": "file",
                    "mime": media_type,
                    "filename": name,
                    "url": format!("data:{media_type};base64,{base64}"),
                }),
            }
        });
        let parts: Vec<Value> = std::iter::once(words).chain(context).collect();
        let mut body = json!({ "messageID": self.message_id, "parts": parts });
        if let Some((provider, model)) = &self.model {
            body["model"] = json!({ "providerID": provider, "modelID": model });
        }
        if let Some(agent) = &self.agent {
            body["agent"] = agent.as_str().into();
        }
        if let Some(variant) = &self.variant {
            body["variant"] = variant.as_str().into();
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_message_have_ids_that_keep_their_order() {
        let prompt = PromptText {
            message_id: "msg_01jc".to_owned(),
            text: "look".to_owned(),
            context: vec![
                PromptContext::Words("<file/>".to_owned()),
                PromptContext::File {
                    name: "a.png".to_owned(),
                    media_type: "image/png".to_owned(),
                    base64: "AAAA".to_owned(),
                },
            ],
            model: None,
            agent: None,
            variant: Some("high".to_owned()),
        };
        let body = prompt.body();
        let ids: Vec<&str> = body["parts"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|part| part["id"].as_str())
            .collect();
        assert_eq!(ids, ["prt_01jc", "prt_01jc_01", "prt_01jc_02"]);
        assert!(ids.is_sorted());
        assert_eq!(body["parts"][1]["synthetic"], true);
        assert_eq!(body["parts"][2]["url"], "data:image/png;base64,AAAA");
        assert_eq!(body["variant"], "high");
        assert_eq!(body, prompt.body());
    }
}

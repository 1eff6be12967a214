//! What a review came to: read from the agent's last words, however it wrapped them.

use std::fmt::Write as _;

use countersign_core::visible::visible;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The form that a reviewer is asked to answer in.
pub(super) const SCHEMA: &str = r#"{
  "type": "object",
  "required": ["verdict", "summary", "findings", "next_steps"],
  "additionalProperties": false,
  "properties": {
    "verdict": {"enum": ["approve", "needs-attention"]},
    "summary": {"type": "string", "description": "whether this should ship, in a sentence or two"},
    "findings": {"type": "array", "items": {
      "type": "object",
      "required": ["severity", "title", "body", "file", "line_start", "line_end", "confidence", "recommendation"],
      "properties": {
        "severity": {"enum": ["critical", "high", "medium", "low"]},
        "title": {"type": "string"},
        "body": {"type": "string", "description": "what goes wrong, when, and with which consequence"},
        "file": {"type": "string"},
        "line_start": {"type": "integer", "minimum": 1},
        "line_end": {"type": "integer", "minimum": 1},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "recommendation": {"type": "string"}
      }
    }},
    "next_steps": {"type": "array", "items": {"type": "string"}}
  }
}"#;

/// A review.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Review {
    /// Whether it should ship.
    pub(crate) verdict: Verdict,
    /// The same in words.
    pub(crate) summary: String,
    /// What was found.
    pub(crate) findings: Vec<Finding>,
    /// What to do.
    pub(crate) next_steps: Vec<String>,
}

/// Whether changes should ship.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// They should.
    Approve,
    /// Somebody should look at them first.
    NeedsAttention,
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Finding {
    severity: String,
    title: String,
    body: String,
    file: String,
    line_start: Option<u64>,
    line_end: Option<u64>,
    confidence: Option<f64>,
    recommendation: String,
}

/// The review in `words`, as people read it; the words themselves if there is none in them.
pub(crate) fn rendered(words: &str) -> String {
    match read(words) {
        Some(review) => render(&review),
        None => visible(words).into_owned(),
    }
}

/// Finds the review in `words`: alone, in a fenced block, or among other words. The last one counts.
pub(crate) fn read(words: &str) -> Option<Review> {
    let mut found = None;
    let mut rest = words;
    while let Some(start) = rest.find('{') {
        let candidate = &rest[start..];
        let mut values = serde_json::Deserializer::from_str(candidate).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                if let Some(review) = understand(&value) {
                    found = Some(review);
                }
                rest = &candidate[values.byte_offset()..];
            }
            Some(Err(_)) | None => rest = &candidate[1..],
        }
    }
    found
}

/// Takes what a model meant, where it did not keep to the form in every detail. Without a verdict and findings it is no
/// review: nothing is read as an approval that does not say so.
fn understand(value: &Value) -> Option<Review> {
    let findings = value.get("findings")?.as_array()?;
    let findings: Vec<Finding> = findings.iter().filter_map(finding).collect();
    let said = value.get("verdict")?.as_str()?.trim().to_ascii_lowercase();
    let verdict = match said.replace([' ', '_'], "-").as_str() {
        "approve" | "approved" | "pass" => Verdict::Approve,
        _ => Verdict::NeedsAttention,
    };
    let steps = value.get("next_steps").and_then(Value::as_array);
    Some(Review {
        verdict,
        summary: text(value, "summary"),
        findings,
        next_steps: steps
            .into_iter()
            .flatten()
            .filter_map(|step| Some(step.as_str()?.trim().to_owned()))
            .collect(),
    })
}

fn finding(value: &Value) -> Option<Finding> {
    if let Some(words) = value.as_str() {
        return Some(Finding {
            severity: String::new(),
            title: words.trim().to_owned(),
            body: String::new(),
            file: String::new(),
            line_start: None,
            line_end: None,
            confidence: None,
            recommendation: String::new(),
        });
    }
    value.as_object()?;
    let number = |name: &str| {
        let given = value.get(name)?;
        given
            .as_u64()
            .or_else(|| given.as_str()?.trim().parse().ok())
    };
    let confidence = value.get("confidence").and_then(Value::as_f64);
    Some(Finding {
        severity: text(value, "severity").to_ascii_lowercase(),
        title: text(value, "title"),
        body: text(value, "body"),
        file: text(value, "file"),
        line_start: number("line_start"),
        line_end: number("line_end"),
        confidence: confidence.filter(|confidence| (0.0..=1.0).contains(confidence)),
        recommendation: text(value, "recommendation"),
    })
}

fn text(value: &Value, name: &str) -> String {
    value
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

fn render(review: &Review) -> String {
    let verdict = match review.verdict {
        Verdict::Approve => "PASS",
        Verdict::NeedsAttention => "NEEDS ATTENTION",
    };
    let mut out = format!("## Review Verdict: {verdict}\n");
    if !review.summary.is_empty() {
        out.push('\n');
        out.push_str(&review.summary);
        out.push('\n');
    }
    if review.findings.is_empty() {
        out.push_str("\nNo findings.\n");
    } else {
        say(
            &mut out,
            format_args!("\n### Findings ({})\n", review.findings.len()),
        );
        for finding in &review.findings {
            render_finding(&mut out, finding);
        }
    }
    if !review.next_steps.is_empty() {
        out.push_str("\n### Next Steps\n\n");
        for step in &review.next_steps {
            say(&mut out, format_args!("- {step}\n"));
        }
    }
    visible(out.trim_end()).into_owned()
}

fn render_finding(out: &mut String, finding: &Finding) {
    let severity = match finding.severity.as_str() {
        "" => "FINDING".to_owned(),
        severity => severity.to_ascii_uppercase(),
    };
    say(out, format_args!("\n#### {severity}: {}\n", finding.title));
    if !finding.file.is_empty() {
        let lines = match (finding.line_start, finding.line_end) {
            (Some(start), Some(end)) if end > start => format!(":{start}-{end}"),
            (Some(line), _) | (None, Some(line)) => format!(":{line}"),
            (None, None) => String::new(),
        };
        say(out, format_args!("- **File**: {}{lines}\n", finding.file));
    }
    if let Some(confidence) = finding.confidence {
        say(
            out,
            format_args!("- **Confidence**: {:.0}%\n", confidence * 100.0),
        );
    }
    if !finding.body.is_empty() {
        say(out, format_args!("- {}\n", finding.body));
    }
    if !finding.recommendation.is_empty() {
        say(
            out,
            format_args!("- **Recommendation**: {}\n", finding.recommendation),
        );
    }
}

fn say(out: &mut String, words: std::fmt::Arguments<'_>) {
    out.write_fmt(words).expect("a String takes every write");
}

#[cfg(test)]
mod tests {
    use super::*;

    const REVIEW: &str = r#"{"verdict":"needs-attention","summary":"Do not ship.","findings":[{"severity":"high",
        "title":"Overflow","body":"It wraps at 2^32.","file":"src/a.rs","line_start":3,"line_end":5,"confidence":0.9,
        "recommendation":"Use checked_add."}],"next_steps":["Fix it"]}"#;

    #[test]
    fn a_review_is_found_however_it_is_wrapped() {
        let wrapped = [
            REVIEW.to_owned(),
            format!("Here it is:\n```json\n{REVIEW}\n```\nAnything else?"),
            format!("I looked at fn main() {{ x }} and {{\"a\": 1}}.\n{REVIEW}"),
            format!("{{ not json {REVIEW} trailing }}"),
        ];
        for words in wrapped {
            let review = read(&words).unwrap_or_else(|| panic!("none in {words}"));
            assert_eq!(review.verdict, Verdict::NeedsAttention);
            assert_eq!(review.findings.len(), 1);
        }
        let twice = format!(
            "{REVIEW}\nOn second thoughts:\n{}",
            r#"{"verdict":"approve","summary":"","findings":[]}"#
        );
        assert_eq!(read(&twice).unwrap().verdict, Verdict::Approve);
    }

    #[test]
    fn what_does_not_keep_to_the_form_is_never_read_as_an_approval() {
        for words in [
            "",
            "approve",
            r#"{"verdict":"approve"}"#,
            r#"{"findings":[]}"#,
            r#"{"verdict":"approve","findings":"none"}"#,
            r#"{"verdict":"approve","findings":["#,
        ] {
            assert_eq!(read(words), None, "{words}");
        }
        let strange = r#"{"verdict":"ship it?","findings":[1,"a bare sentence",{"line_start":"7","confidence":9}]}"#;
        let review = read(strange).unwrap();
        assert_eq!(review.verdict, Verdict::NeedsAttention);
        assert_eq!(review.findings.len(), 2);
        assert_eq!(review.findings[1].line_start, Some(7));
        assert_eq!(review.findings[1].confidence, None);
    }

    #[test]
    fn a_review_is_rendered_with_the_markers_that_people_know() {
        let text = rendered(REVIEW);
        assert_eq!(
            text,
            "## Review Verdict: NEEDS ATTENTION\n\nDo not ship.\n\n### Findings (1)\n\n#### HIGH: Overflow\n\
             - **File**: src/a.rs:3-5\n- **Confidence**: 90%\n- It wraps at 2^32.\n\
             - **Recommendation**: Use checked_add.\n\n### Next Steps\n\n- Fix it"
        );
        assert_eq!(rendered("plain\u{1b}[2K words"), "plain⟨U+001B⟩[2K words");
    }
}

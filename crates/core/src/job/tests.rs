//! Jobs go one way, and their ids are read as they are written.

use proptest::prelude::*;

use super::*;

fn any_step() -> impl Strategy<Value = JobStep> {
    proptest::sample::select(JobStep::ALL.to_vec())
}

#[test]
fn the_way_of_a_job_that_is_asked_about_leads_to_its_result() {
    let steps = [
        (JobStep::Start, JobState::Starting),
        (JobStep::Run, JobState::Running),
        (JobStep::Wait, JobState::Waiting),
        (JobStep::GoOn, JobState::Running),
        (JobStep::Complete, JobState::Completed),
    ];
    let mut state = JobState::Queued;
    for (step, next) in steps {
        state = state.advance(step).unwrap();
        assert_eq!(state, next);
    }
}

#[test]
fn every_job_that_has_not_ended_can_be_ended() {
    for state in JobState::ALL
        .into_iter()
        .filter(|state| !state.is_terminal())
    {
        assert_eq!(state.advance(JobStep::Fail), Ok(JobState::Failed));
        assert_eq!(state.advance(JobStep::Cancel), Ok(JobState::Cancelled));
    }
}

#[test]
fn nothing_is_completed_before_its_prompt_is_written_down() {
    assert!(JobState::Queued.advance(JobStep::Complete).is_err());
    assert!(JobState::Starting.advance(JobStep::Complete).is_err());
}

#[test]
fn names_are_read_as_they_are_written() {
    for state in JobState::ALL {
        assert_eq!(JobState::from_name(state.name()), Some(state));
        assert_eq!(serde_json::to_value(state).unwrap(), state.name());
    }
    for code in FailureCode::ALL {
        assert_eq!(FailureCode::from_name(code.name()), Some(code));
        assert_eq!(serde_json::to_value(code).unwrap(), code.name());
        assert!(!code.hint().is_empty());
    }
    for kind in JobKind::ALL {
        assert_eq!(JobKind::from_name(kind.name()), Some(kind));
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
    }
}

#[test]
fn an_id_has_the_form_that_scripts_look_for() {
    let now = Timestamp::from_micros(1_794_768_237_833_001);
    let id = JobId::generate(JobKind::Task, now).to_string();
    assert!(id.starts_with("task-mwi6o3d5-"), "{id}");
    assert_eq!(id.len(), "task-mwi6o3d5-".len() + 6, "{id}");
    for kind in JobKind::ALL {
        let id = JobId::generate(kind, now);
        assert_eq!(id.kind(), Some(kind));
        assert_eq!(id.as_str().parse::<JobId>().unwrap(), id);
    }
}

#[test]
fn what_is_no_id_is_refused() {
    for text in [
        "",
        "task",
        "task-",
        "task--",
        "task-abcdef-abc",
        "task-abcde-abcd",
        "job-abcdef-abcdef",
        "task-ABCDEF-abcdef",
        "task-abcdef-abc%ef",
        "review-task-abcdef-abcdef",
    ] {
        assert!(text.parse::<JobId>().is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn no_steps_lead_out_of_a_terminal_state_or_back_to_the_queue(
        steps in proptest::collection::vec(any_step(), 0..40)
    ) {
        let mut state = JobState::Queued;
        let mut has_started = false;
        for step in steps {
            match state.advance(step) {
                Ok(next) => {
                    prop_assert!(!state.is_terminal());
                    prop_assert!(next != JobState::Queued);
                    prop_assert!(next != JobState::Completed || has_started);
                    has_started |= next == JobState::Running;
                    state = next;
                }
                Err(JobRefusal::Over) => prop_assert!(state.is_terminal()),
                Err(JobRefusal::OutOfOrder) => prop_assert!(!state.is_terminal()),
            }
            prop_assert!(!(state.is_terminal() && state.holds_place()));
        }
    }

    #[test]
    fn where_a_step_can_be_taken_is_what_the_machine_says(step in any_step()) {
        let before: Vec<_> = JobState::before(step).collect();
        for state in JobState::ALL {
            prop_assert_eq!(before.contains(&state), state.advance(step).is_ok());
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC*") {
        drop(text.parse::<JobId>());
        drop(format!("task-{text}").parse::<JobId>());
    }
}

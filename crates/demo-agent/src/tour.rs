//! The short piece of work that a new user meets: a read, a question, an edit and a command, each with its answer.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate,
};

use crate::turn::{Answer, Cancelled, Outcome, Turn};

/// The file that it makes or changes.
const NOTE: &str = "countersign-demo.md";

const STEPS: [&str; 4] = [
    "Look around",
    "Ask how the note shall greet",
    "Write the note",
    "Count its lines",
];

const QUESTION: &str = "How shall the note greet its reader?";

const GREETINGS: [&str; 3] = ["Hello", "Good morning", "Ahoy"];

/// Does the piece of work.
pub(crate) async fn give(turn: &Turn) -> Result<(), Cancelled> {
    if turn.only_plans() {
        return say_plan(turn).await;
    }
    let directory = &turn.session.directory;
    let welcome = format!(
        "I am the demo agent: no model, no key, but what I do I do for real, in `{}`. I will look around, ask you \
         something, write a short note and count its lines. I ask before I change or run anything.",
        directory.display()
    );
    turn.say(&welcome).await?;

    show_plan(turn, 0).await;
    turn.read(what_to_read(directory)).await?;

    show_plan(turn, 1).await;
    turn.think("A note begins with a greeting. I do not know which one is liked here, so I ask.")
        .await?;
    let greeting = greeting(turn).await?;

    show_plan(turn, 2).await;
    let text = note(directory, &greeting);
    let written = turn.write_file(NOTE, &text).await?;
    turn.say(match written {
        Outcome::Done => "The note is written.",
        Outcome::Failed => "I was allowed to write the note, but it did not work.",
        Outcome::Denied => "You denied the edit, so I wrote nothing. I go on with the rest.",
        Outcome::OnlyPlanned => "I would write the note.",
    })
    .await?;

    show_plan(turn, 3).await;
    let command = if directory.join(NOTE).is_file() {
        format!("wc -l {NOTE}")
    } else {
        "ls".to_owned()
    };
    let counted = turn.run_command(&command).await?;
    turn.say(match counted {
        Outcome::Done => "The command ran.",
        Outcome::Failed => "I was allowed to run the command, but it failed.",
        Outcome::Denied => "You denied the command, so I did not run it.",
        Outcome::OnlyPlanned => "I would run the command.",
    })
    .await?;

    show_plan(turn, STEPS.len()).await;
    turn.say("That was all. Say `help` to see what else I can do, or anything to do it again.")
        .await
}

async fn greeting(turn: &Turn) -> Result<String, Cancelled> {
    let [first, ..] = GREETINGS;
    let (greeting, said) = match turn.ask(QUESTION, &GREETINGS.map(str::to_owned)).await? {
        Answer::Chosen(chosen) => (chosen.clone(), format!("Then it says \"{chosen}\".")),
        Answer::Declined => (
            first.to_owned(),
            format!("You did not want to say, so I take \"{first}\"."),
        ),
        Answer::NotAsked => (first.to_owned(), format!("I take \"{first}\".")),
    };
    turn.say(&said).await?;
    Ok(greeting)
}

async fn say_plan(turn: &Turn) -> Result<(), Cancelled> {
    show_plan(turn, 0).await;
    let plan = format!(
        "In the mode `plan` I do nothing. In the mode `ask` I would read a file of `{}`, ask you how a note shall \
         greet, write it into `{NOTE}`, and run `wc -l {NOTE}`.",
        turn.session.directory.display()
    );
    turn.say(&plan).await
}

/// Shows the plan, of which the first `done` steps are done.
async fn show_plan(turn: &Turn, done: usize) {
    let status = |step: usize| match step.cmp(&done) {
        std::cmp::Ordering::Less => PlanEntryStatus::Completed,
        std::cmp::Ordering::Equal if !turn.only_plans() => PlanEntryStatus::InProgress,
        std::cmp::Ordering::Equal | std::cmp::Ordering::Greater => PlanEntryStatus::Pending,
    };
    let entries = STEPS.iter().enumerate();
    let entries =
        entries.map(|(step, what)| PlanEntry::new(*what, PlanEntryPriority::Medium, status(step)));
    let plan = SessionUpdate::Plan(Plan::new(entries.collect()));
    turn.session.remember(plan.clone());
    turn.tell(plan).await;
}

fn what_to_read(directory: &Path) -> &'static Path {
    let files = [NOTE, "README.md"].map(Path::new);
    let there = files
        .into_iter()
        .find(|file| directory.join(file).is_file());
    there.unwrap_or(Path::new(""))
}

/// The note with one more line.
fn note(directory: &Path, greeting: &str) -> String {
    let before = std::fs::read_to_string(directory.join(NOTE)).unwrap_or_default();
    let before = if before.is_empty() {
        "# Written by the demo agent of Countersign\n\n".to_owned()
    } else {
        before
    };
    format!("{before}- {greeting}! Somebody allowed this line.\n")
}

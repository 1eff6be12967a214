//! Jobs of opencode's scheduler: a file of JSON each in the user's home, and units of systemd that start them.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::beneath::{BeneathError, EntryKind, Root};
use crate::refusal::{Kind, Refusal};
use crate::workspace::{Home, if_there};

/// Where the jobs are, below the home.
const FOLDER: &str = ".config/opencode/jobs";
/// Where the units of systemd are, below the home.
const UNITS: &str = ".config/systemd/user";

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Job {
    /// Everything that its file says.
    pub fields: Map<String, Value>,
    /// Its file, below the home.
    #[serde(skip)]
    pub file: PathBuf,
}

impl Home {
    /// Every job, in the order of the names. What is no job is left out.
    pub fn jobs(&self) -> Result<Vec<Job>, Refusal> {
        let Some(root) = if_there(self.root())? else {
            return Ok(Vec::new());
        };
        let entries = match root.entries(Path::new(FOLDER)) {
            Ok(entries) => entries,
            Err(BeneathError::Missing | BeneathError::Outside | BeneathError::NoPlace) => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(error.into()),
        };
        let files = entries.into_iter().filter(|entry| {
            let extension = Path::new(&entry.name).extension();
            entry.kind == EntryKind::File && extension.is_some_and(|it| it == "json")
        });
        let jobs = files.filter_map(|entry| read(&root, Path::new(FOLDER).join(entry.name)));
        let mut jobs: Vec<_> = jobs.collect();
        jobs.sort_by(|one, other| one.name().cmp(other.name()));
        Ok(jobs)
    }

    /// The job that is called so: by its slug, its name, or a part of either that fits no other.
    pub fn job(&self, name: &str) -> Result<Job, Refusal> {
        let wanted = name.trim();
        if wanted.is_empty() {
            return Err(Refusal::invalid("job_name_required", "name is required"));
        }
        let mut jobs = self.jobs()?;
        if let Some(exact) = jobs.iter().position(|job| job.is_called(wanted)) {
            return Ok(jobs.swap_remove(exact));
        }
        jobs.retain(|job| job.is_perhaps_called(wanted));
        match jobs.len() {
            0 => Err(Refusal::new(
                Kind::NotFound,
                "job_not_found",
                format!("Job \"{wanted}\" not found."),
            )),
            1 => Ok(jobs.swap_remove(0)),
            _ => Err(Refusal::new(
                Kind::Conflict,
                "job_ambiguous",
                format!("\"{wanted}\" fits more than one job."),
            )),
        }
    }
}

impl Job {
    /// What it is called by programs.
    pub fn slug(&self) -> &str {
        self.text("slug")
    }

    /// What it is called by people.
    pub fn name(&self) -> &str {
        self.text("name")
    }

    /// The names of its units of systemd, whether or not there are any.
    pub fn units(&self) -> Vec<String> {
        let slug = self.slug();
        let is_name = !slug.is_empty()
            && slug
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        // What is in the file of a job must not name other files.
        if !is_name {
            return Vec::new();
        }
        ["service", "timer"]
            .map(|kind| format!("opencode-job-{slug}.{kind}"))
            .into()
    }

    /// The files of its units, below the home.
    pub(crate) fn unit_files(&self) -> impl Iterator<Item = PathBuf> {
        self.units()
            .into_iter()
            .map(|unit| Path::new(UNITS).join(unit))
    }

    fn text(&self, key: &str) -> &str {
        let text = self.fields.get(key).and_then(Value::as_str);
        text.unwrap_or_default()
    }

    fn is_called(&self, wanted: &str) -> bool {
        self.slug() == wanted
            || self.slug() == slug_of(wanted)
            || self.name().to_lowercase() == wanted.to_lowercase()
    }

    fn is_perhaps_called(&self, wanted: &str) -> bool {
        let slug = slug_of(wanted);
        let ends_with = self
            .slug()
            .strip_suffix(&slug)
            .is_some_and(|rest| !slug.is_empty() && rest.ends_with('-'));
        ends_with || self.name().to_lowercase().contains(&wanted.to_lowercase())
    }
}

fn read(root: &Root, file: PathBuf) -> Option<Job> {
    let bytes = root.read(&file).ok()?;
    let fields: Map<String, Value> = serde_json::from_slice(&bytes).ok()?;
    let complete = ["slug", "name", "schedule"]
        .iter()
        .all(|key| fields.get(*key).is_some_and(Value::is_string));
    complete.then_some(Job { fields, file })
}

/// A name in lower case, with a dash for everything that is no letter and no digit.
fn slug_of(name: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower
        .split(|it: char| !it.is_ascii_lowercase() && !it.is_ascii_digit())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests;

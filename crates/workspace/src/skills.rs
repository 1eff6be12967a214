//! Skills: a folder with a `SKILL.md` each, in the workspace, in the folders above it up to its repository, and in the
//! user's home.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;

use crate::beneath::{Entry, EntryKind, Root};
use crate::config::text;
use crate::front_matter::FrontMatter;
use crate::listing::Listing;
use crate::names;
use crate::refusal::{Kind, Refusal};
use crate::workspace::{Reach, Scope, Workspace, if_there};

/// Where the skills of a workspace are that can be changed.
pub(crate) const FOLDER: &str = ".opencode/skills";
/// The file of a skill in its folder.
pub(crate) const FILE: &str = "SKILL.md";
/// Where skills are looked for, in a workspace and in every folder above it up to the repository's.
const PROJECT: [&str; 2] = [FOLDER, ".claude/skills"];
/// Where they are looked for in the user's home.
const GLOBAL: [&str; 2] = [".config/opencode/skills", ".claude/skills"];

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skill {
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Where its text is.
    pub path: PathBuf,
    /// Whose it is.
    pub scope: Scope,
    /// When it is to be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
}

/// A skill with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillText {
    /// What is known of it.
    pub skill: Arc<Skill>,
    /// The whole of its file.
    pub content: String,
}

impl Skill {
    /// Reads its text.
    pub(crate) fn read(&self) -> Result<String, Refusal> {
        // It is read below the folder in which it was found, which is two or four names above it.
        let folder = self.path.ancestors().nth(2).unwrap_or(Path::new("/"));
        let root = match self.scope {
            Scope::Global => folder,
            Scope::Project => folder.ancestors().nth(2).unwrap_or(folder),
        };
        let below = self.path.strip_prefix(root).unwrap_or(&self.path);
        text(Root::open(root)?.read(below)?)
    }
}

/// The listings of each reach, with what they were made of.
#[derive(Debug, Default)]
pub(crate) struct RememberedSkills(Mutex<[Option<Merged>; 2]>);

#[derive(Debug)]
struct Merged {
    parts: Vec<Listing<Skill>>,
    whole: Listing<Skill>,
}

impl Workspace {
    /// Every skill that counts here. Of those with the same name the first counts; what is not valid is left out.
    pub fn skills(&self, reach: Reach) -> Result<Listing<Skill>, Refusal> {
        let mut parts = Vec::new();
        for above in self.up_to_repository() {
            let Some(root) = if_there(Root::open(above))? else {
                continue;
            };
            for folder in PROJECT {
                parts.push(self.skills_in(&root, above, Path::new(folder), Scope::Project)?);
            }
        }
        if reach == Reach::Everything {
            for folder in GLOBAL {
                // Whoever has a link in their home means what it leads to.
                let path = self.home().path().join(folder);
                let Some(root) = if_there(Root::open(&path))? else {
                    continue;
                };
                parts.push(self.skills_in(&root, &path, Path::new(""), Scope::Global)?);
            }
        }
        Ok(self.skills.merge(reach, parts))
    }

    /// The skill of that name with its text.
    pub fn skill(&self, name: &str, reach: Reach) -> Result<SkillText, Refusal> {
        let found = self.skills(reach)?;
        let skill = found.iter().find(|skill| skill.name == name);
        let Some(skill) = skill else {
            return Err(unknown(name));
        };
        let content = skill.read()?;
        Ok(SkillText {
            skill: Arc::clone(skill),
            content,
        })
    }

    fn skills_in(
        &self,
        root: &Root,
        base: &Path,
        folder: &Path,
        scope: Scope,
    ) -> Result<Listing<Skill>, Refusal> {
        let place = base.join(folder);
        let known = self.skill_folders.of(&place);
        let listing = known.look(root, folder, file_of, |name, bytes| {
            let name = name.to_str()?;
            let path = place.join(name).join(FILE);
            parse(name, bytes, path, scope)
        })?;
        Ok(listing)
    }

    /// This folder and those above it up to the one that is a repository; this one alone if none is.
    fn up_to_repository(&self) -> Vec<&Path> {
        let is_repository = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
        let above = self.path().ancestors().position(|it| is_repository(&it));
        let count = above.map_or(1, |position| position + 1);
        self.path().ancestors().take(count).collect()
    }
}

impl RememberedSkills {
    fn merge(&self, reach: Reach, parts: Vec<Listing<Skill>>) -> Listing<Skill> {
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = match reach {
            Reach::Project => &mut remembered[0],
            Reach::Everything => &mut remembered[1],
        };
        if let Some(merged) = slot {
            let same = merged.parts.len() == parts.len()
                && merged
                    .parts
                    .iter()
                    .zip(&parts)
                    .all(|(one, other)| one.is_same(other));
            if same {
                return merged.whole.clone();
            }
        }
        let mut names = std::collections::HashSet::new();
        let all = parts.iter().flat_map(|part| part.iter());
        let whole = all
            .filter(|skill| names.insert(skill.name.as_str()))
            .cloned()
            .collect();
        let whole = Listing::new(whole);
        *slot = Some(Merged {
            parts,
            whole: whole.clone(),
        });
        whole
    }
}

pub(crate) fn unknown(name: &str) -> Refusal {
    Refusal::new(
        Kind::NotFound,
        "skill_not_found",
        format!("Skill not found: {name}"),
    )
}

/// The text of a skill as it is written down, given what a client sent.
pub(crate) fn compose(
    name: &str,
    content: &str,
    description: Option<&str>,
) -> Result<String, Refusal> {
    if content.is_empty() {
        return Err(Refusal::invalid(
            "invalid_skill_content",
            "Skill content is required",
        ));
    }
    let (mut front, body) = FrontMatter::split(content)?;
    if let Some(said) = front.text("name").filter(|said| !said.is_empty())
        && said != name
    {
        return Err(Refusal::invalid(
            "invalid_skill_name",
            "Skill frontmatter name must match payload name",
        ));
    }
    let said = front.text("description").filter(|said| !said.is_empty());
    let description = said.or(description).unwrap_or_default().to_owned();
    names::check_description(&description)?;
    front.set("name", Value::from(name));
    front.set("description", Value::from(description));
    let body = body.strip_prefix('\n').unwrap_or(body);
    let mut text = front.write();
    text.push_str(body);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

fn file_of(entry: &Entry) -> Option<OsString> {
    match entry.kind {
        EntryKind::Folder => {
            let mut file = entry.name.clone();
            file.push("/");
            file.push(OsStr::new(FILE));
            Some(file)
        }
        EntryKind::File | EntryKind::Link | EntryKind::Other => None,
    }
}

fn parse(folder: &str, bytes: Vec<u8>, path: PathBuf, scope: Scope) -> Option<Skill> {
    let content = String::from_utf8(bytes).ok()?;
    let (front, body) = FrontMatter::split(&content).ok()?;
    let name = front.text("name").unwrap_or(folder);
    let description = front.text("description").unwrap_or_default();
    names::check_skill(name).ok()?;
    names::check_description(description).ok()?;
    if name != folder {
        return None;
    }
    let said = |key| {
        let text = front.text(key)?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    Some(Skill {
        name: name.to_owned(),
        description: description.to_owned(),
        path,
        scope,
        trigger: said("trigger")
            .or_else(|| said("when"))
            .or_else(|| when_to_use(body)),
    })
}

/// The first thing that is said under the heading "When to use".
fn when_to_use(body: &str) -> Option<String> {
    let mut inside = false;
    for line in body.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(heading) = heading(line) {
            inside = heading.eq_ignore_ascii_case("when to use");
        } else if inside {
            let item = without_bullet(line);
            if !item.is_empty() {
                return Some(item.to_owned());
            }
        }
    }
    None
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(char::is_whitespace)).then(|| text.trim())
}

fn without_bullet(line: &str) -> &str {
    let after = |rest: &str| rest.starts_with(char::is_whitespace);
    if let Some(rest) = line.strip_prefix(['-', '*', '+'])
        && after(rest)
    {
        return rest.trim();
    }
    let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
    if rest.len() < line.len()
        && let Some(rest) = rest.strip_prefix(['.', ')'])
        && after(rest)
    {
        return rest.trim();
    }
    line
}

#[cfg(test)]
mod tests;

//! Changing a workspace: first what it would come to, then doing it, by one at a time and as a whole.

mod draft;
mod write;

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use countersign_core::digest::Digest;
use serde_json::{Map, Value};

use crate::change::{Applied, ApplyError, Base, Change, FileChange, Footing, Plan, digest, object};
use crate::commands::{self, CommandDraft};
use crate::config::{OPENWORK, opencode_path};
use crate::import::{Import, Mode};
use crate::jsonc;
use crate::mcp;
use crate::names;
use crate::plugins;
use crate::refusal::{Kind, Refusal};
use crate::skills;
use crate::spare::Spare;
use crate::workspace::{Scope, Workspace};

use draft::Draft;
use write::Wrote;

pub use write::{Names, Prepared};

/// How often a change is planned anew because somebody else writes the same files at that moment.
const ATTEMPTS: usize = 8;

/// Which workspaces are being changed, so that each is changed by one at a time, whoever made the [`Workspace`].
static WRITERS: LazyLock<Mutex<HashMap<Whose, Weak<Mutex<()>>>>> = LazyLock::new(Mutex::default);

/// What is changed by one at a time. Whoever finds other files than were looked at writes nothing: so it does no harm if
/// another folder comes into the place of this one while somebody waits.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Whose {
    /// A folder, by whichever path: its device and its number there.
    Folder(u64, u64),
    /// A folder that is not there yet.
    Path(PathBuf),
}

impl Workspace {
    /// Checks a change, and says what it would come to.
    pub fn plan(&self, change: &Change) -> Result<Plan, Refusal> {
        let mut draft = Draft::new(self);
        draft.take(change)?;
        Ok(draft.finish(change.clone()))
    }

    /// Has what a plan would write on the disk, in `spare`, where nobody looks for it: for whoever has to wait before it is
    /// applied. What cannot be there is made when it is applied.
    pub fn prepare(&self, plan: &Plan, spare: &Spare) -> Result<Prepared, ApplyError> {
        Prepared::of(self, &plan.files, spare)
    }

    /// Does what was planned, if it still means the same: with the files as they are now, its effect has to be equal.
    ///
    /// What has come about meanwhile is not done again. What was prepared is put in place if it is what is to be written.
    pub fn apply(&self, plan: &Plan, prepared: Prepared) -> Result<Applied, ApplyError> {
        let (applied, names) = self.apply_unsettled(plan, prepared)?;
        drop(names.settle());
        Ok(applied)
    }

    /// The same for whoever does not wait until the disk has the names of what was written too.
    pub fn apply_unsettled(
        &self,
        plan: &Plan,
        mut prepared: Prepared,
    ) -> Result<(Applied, Names), ApplyError> {
        if plan.effect.acts.is_empty() {
            return Ok((unchanged(), Names::default()));
        }
        let writer = self.writer(&plan.change);
        let _alone = writer.lock().unwrap_or_else(PoisonError::into_inner);
        if self.still_stands(plan) {
            match write::write(self, &plan.files, &mut prepared) {
                Ok(Wrote::All(names)) => return Ok((applied(plan), names)),
                Err(error @ ApplyError::HalfDone { .. }) => return Err(error),
                // Nothing of it is there; who plans it again finds out what is in the way.
                Ok(Wrote::OthersDid)
                | Err(ApplyError::Changed | ApplyError::Refused(_) | ApplyError::Write { .. }) => {}
            }
        }
        self.change_alone(&plan.change, prepared, |now| {
            if now.effect == plan.effect || !now.changed {
                Ok(())
            } else {
                Err(ApplyError::Changed)
            }
        })
        .map(|(_, applied, names)| (applied, names))
    }

    /// Whether planning `plan` again would come to the same, if the files that it changes are as they were.
    fn still_stands(&self, plan: &Plan) -> bool {
        let Footing::Files { read, config } = &plan.footing else {
            return false;
        };
        let is_as_it_was = |(base, path, content): &(Base, PathBuf, Option<Vec<u8>>)| {
            let now = self
                .root_of(*base)
                .and_then(|root| root.read_if_there(path));
            now.is_ok_and(|now| now == *content)
        };
        let is_there = |config: &PathBuf| {
            let now = self
                .root()
                .and_then(|root| opencode_path(&root, Scope::Project));
            now.is_ok_and(|now| now == *config)
        };
        plan.changed && config.as_ref().is_none_or(is_there) && read.iter().all(is_as_it_was)
    }

    /// Plans a change and does it, with nobody else between: for whoever needs no leave.
    pub fn carry_out(&self, change: &Change) -> Result<(Plan, Applied), ApplyError> {
        let writer = self.writer(change);
        let alone = writer.lock().unwrap_or_else(PoisonError::into_inner);
        let prepared = Prepared::default();
        let (plan, applied, names) = self.change_alone(change, prepared, |_| Ok(()))?;
        drop(alone);
        drop(names.settle());
        Ok((plan, applied))
    }

    /// Puts files in the place of what each is said to be now, with nobody else between: all of them, or none.
    pub fn put(&self, files: &[FileChange]) -> Result<Digest, ApplyError> {
        let writer = writer(self.path());
        let _alone = writer.lock().unwrap_or_else(PoisonError::into_inner);
        match write::write(self, files, &mut Prepared::default())? {
            Wrote::All(names) => {
                drop(names.settle());
                Ok(digest(files))
            }
            Wrote::OthersDid => Err(ApplyError::Changed),
        }
    }

    /// Who may do `change`: one at a time.
    fn writer(&self, change: &Change) -> Arc<Mutex<()>> {
        let is_global = matches!(
            change,
            Change::DeleteJob { .. }
                | Change::WriteConfig {
                    scope: Scope::Global,
                    ..
                }
        );
        // No change is of files in both.
        writer(if is_global {
            self.home().path()
        } else {
            self.path()
        })
    }

    /// Plans a change and does it, unless `check` does not agree to the plan; nobody else changes anything meanwhile.
    fn change_alone(
        &self,
        change: &Change,
        mut prepared: Prepared,
        check: impl Fn(&Plan) -> Result<(), ApplyError>,
    ) -> Result<(Plan, Applied, Names), ApplyError> {
        for _ in 0..ATTEMPTS {
            let plan = self.plan(change)?;
            check(&plan)?;
            if !plan.changed {
                return Ok((plan, unchanged(), Names::default()));
            }
            match write::write(self, &plan.files, &mut prepared)? {
                Wrote::All(names) => {
                    let applied = applied(&plan);
                    return Ok((plan, applied, names));
                }
                Wrote::OthersDid => {}
            }
        }
        Err(ApplyError::Changed)
    }
}

fn applied(plan: &Plan) -> Applied {
    Applied {
        files: plan.files.clone(),
        changed: true,
        digest: plan.digest(),
    }
}

fn unchanged() -> Applied {
    Applied {
        files: Vec::new(),
        changed: false,
        digest: digest(&[]),
    }
}

/// Who may change what is below `path`.
fn writer(path: &Path) -> Arc<Mutex<()>> {
    let whose = match std::fs::metadata(path) {
        Ok(folder) => Whose::Folder(folder.dev(), folder.ino()),
        Err(_) => Whose::Path(path.to_owned()),
    };
    let mut writers = WRITERS.lock().unwrap_or_else(PoisonError::into_inner);
    writers.retain(|_, writer| writer.strong_count() > 0);
    if let Some(writer) = writers.get(&whose).and_then(Weak::upgrade) {
        return writer;
    }
    let writer = Arc::default();
    writers.insert(whose, Arc::downgrade(&writer));
    writer
}

impl Draft<'_> {
    fn take(&mut self, change: &Change) -> Result<(), Refusal> {
        match change {
            Change::PatchConfig { opencode, openwork } => {
                let opencode = object(opencode, "opencode")?;
                let openwork = object(openwork, "openwork")?;
                if opencode.is_none() && openwork.is_none() {
                    return Err(Refusal::invalid(
                        "invalid_payload",
                        "opencode or openwork updates required",
                    ));
                }
                self.patch_opencode(opencode.unwrap_or_default())?;
                self.patch_openwork(openwork.unwrap_or_default())
            }
            Change::WriteConfig { scope, text } => self.write_config(*scope, text),
            Change::AddPlugin { spec } => self.add_plugin(spec),
            Change::RemovePlugin { name } => self.remove_plugin(name),
            Change::UpsertSkill {
                name,
                content,
                description,
            } => self.upsert_skill(name, content, description.as_deref()),
            Change::DeleteSkill { name } => self.delete_skill(name),
            Change::SetMcp { name, config } => self.set_mcp(name, config),
            Change::EnableMcp { name, enabled } => self.enable_mcp(name, *enabled),
            Change::RemoveMcp { name } => {
                let file = self.opencode()?;
                self.remove(Base::Workspace, &file, &[mcp::KEY, name])
            }
            Change::UpsertCommand(command) => self.upsert_command(command),
            Change::DeleteCommand { name } => {
                let file = Path::new(commands::FOLDER).join(commands::file_name(name)?);
                self.delete(Base::Workspace, &file)
            }
            Change::Import(import) => self.import(import),
            Change::DeleteJob { name } => self.delete_job(name),
        }
    }

    fn patch_opencode(&mut self, keys: Map<String, Value>) -> Result<(), Refusal> {
        let file = self.opencode()?;
        for (key, value) in keys {
            self.set(Base::Workspace, &file, &[&key], value)?;
        }
        Ok(())
    }

    fn patch_openwork(&mut self, keys: Map<String, Value>) -> Result<(), Refusal> {
        let file = Path::new(OPENWORK);
        for (key, value) in keys {
            self.set(Base::Workspace, file, &[&key], value)?;
        }
        Ok(())
    }

    fn write_config(&mut self, scope: Scope, text: &str) -> Result<(), Refusal> {
        if !jsonc::parse(text)?.is_object() {
            return Err(jsonc::no_object());
        }
        let base = match scope {
            Scope::Project => Base::Workspace,
            Scope::Global => Base::Home,
        };
        self.rest_on_more();
        let file = opencode_path(self.root(base)?, scope)?;
        let mut text = text.to_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        self.write(base, &file, text)
    }

    fn add_plugin(&mut self, spec: &str) -> Result<(), Refusal> {
        plugins::check(spec)?;
        let file = self.opencode()?;
        let config = self.value(Base::Workspace, &file)?;
        let specs = plugins::specs(config);
        let there = specs
            .iter()
            .any(|it| plugins::name(it) == plugins::name(spec));
        if there {
            return Ok(());
        }
        self.append(Base::Workspace, &file, &[plugins::KEY], Value::from(spec))
    }

    fn remove_plugin(&mut self, name: &str) -> Result<(), Refusal> {
        let file = self.opencode()?;
        let name = plugins::name(name).to_owned();
        self.take_out(Base::Workspace, &file, &[plugins::KEY], |value| {
            value
                .as_str()
                .is_some_and(|spec| plugins::name(spec) == name)
        })
    }

    fn upsert_skill(
        &mut self,
        name: &str,
        content: &str,
        description: Option<&str>,
    ) -> Result<(), Refusal> {
        let name = name.trim();
        names::check_skill(name)?;
        let text = skills::compose(name, content, description)?;
        let file: PathBuf = [skills::FOLDER, name, skills::FILE].iter().collect();
        self.write(Base::Workspace, &file, text)
    }

    fn delete_skill(&mut self, name: &str) -> Result<(), Refusal> {
        let name = name.trim();
        names::check_skill(name)?;
        let folder = Path::new(skills::FOLDER).join(name);
        self.rest_on_more();
        let there = self
            .root(Base::Workspace)?
            .read_if_there(&folder.join(skills::FILE))?;
        if there.is_none() {
            return Err(skills::unknown(name));
        }
        self.delete_folder(Base::Workspace, &folder)
    }

    fn set_mcp(&mut self, name: &str, config: &Value) -> Result<(), Refusal> {
        if config.is_null() {
            return mcp::check(config);
        }
        names::check_mcp(name)?;
        mcp::check(config)?;
        let file = self.opencode()?;
        self.set(Base::Workspace, &file, &[mcp::KEY, name], config.clone())
    }

    fn enable_mcp(&mut self, name: &str, enabled: bool) -> Result<(), Refusal> {
        names::check_mcp(name)?;
        let file = self.opencode()?;
        let config = self.value(Base::Workspace, &file)?;
        let server = config.get(mcp::KEY).and_then(|servers| servers.get(name));
        if !server.is_some_and(Value::is_object) {
            return Err(Refusal::new(
                Kind::NotFound,
                "mcp_not_found",
                format!("MCP not found: {name}"),
            ));
        }
        let keys = [mcp::KEY, name, "enabled"];
        self.set(Base::Workspace, &file, &keys, Value::from(enabled))
    }

    fn upsert_command(&mut self, command: &CommandDraft) -> Result<(), Refusal> {
        let (name, text) = command.compose()?;
        self.write(
            Base::Workspace,
            &Path::new(commands::FOLDER).join(name),
            text,
        )
    }

    fn import(&mut self, import: &Import) -> Result<(), Refusal> {
        match &import.opencode {
            Some((config, Mode::Merge)) => self.patch_opencode(config.clone())?,
            Some((config, Mode::Replace)) => {
                let file = self.opencode()?;
                let text = jsonc::pretty(&Value::Object(config.clone()));
                self.write(Base::Workspace, &file, text)?;
            }
            None => {}
        }
        match &import.openwork {
            Some((config, Mode::Merge)) => self.patch_openwork(config.clone())?,
            Some((config, Mode::Replace)) => {
                let text = jsonc::pretty(&Value::Object(config.clone()));
                self.write(Base::Workspace, Path::new(OPENWORK), text)?;
            }
            None => {}
        }
        if import.skills_mode == Mode::Replace && !import.skills.is_empty() {
            self.delete_folder(Base::Workspace, Path::new(skills::FOLDER))?;
        }
        for skill in &import.skills {
            self.upsert_skill(&skill.name, &skill.content, skill.description.as_deref())?;
        }
        if import.commands_mode == Mode::Replace && !import.commands.is_empty() {
            self.delete_folder(Base::Workspace, Path::new(commands::FOLDER))?;
        }
        for command in &import.commands {
            self.upsert_command(command)?;
        }
        Ok(())
    }

    fn delete_job(&mut self, name: &str) -> Result<(), Refusal> {
        self.rest_on_more();
        let job = self.workspace().home().job(name)?;
        self.delete(Base::Home, &job.file)?;
        for unit in job.unit_files() {
            self.delete(Base::Home, &unit)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! How much of what an agent offers is kept: more than any agent has, and less than a hostile one could send.

use crate::settings::{Alternative, ConfigOption, Selection, SessionSettings, Setting};

const OPTIONS: usize = 100;
const CHOICES: usize = 500;
const COMMANDS: usize = 500;
/// In bytes. What is called by more than this is left out: an id that is cut off names nothing.
const ID: usize = 500;
/// In characters.
const TEXT: usize = 1_000;

impl SessionSettings {
    /// Leaves out what is beyond all measure.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.modes = self.modes.map(selection);
        self.models = self.models.map(selection);
        self.options.retain(|option| option.id.len() <= ID);
        self.options.truncate(OPTIONS);
        self.options = self.options.into_iter().map(option).collect();
        self.commands.retain(|command| command.name.len() <= ID);
        self.commands.truncate(COMMANDS);
        for command in &mut self.commands {
            cut(&mut command.description);
            cut(&mut command.hint);
        }
        if let Some(cost) = self.usage.as_mut().and_then(|usage| usage.cost.as_mut()) {
            cut(&mut cost.currency);
        }
        self
    }
}

fn option(mut option: ConfigOption) -> ConfigOption {
    cut(&mut option.name);
    cut(&mut option.description);
    cut(&mut option.category);
    option.setting = match option.setting {
        Setting::Select(it) => Setting::Select(selection(it)),
        it @ (Setting::Boolean { .. } | Setting::Unknown) => it,
    };
    option
}

fn selection(mut selection: Selection) -> Selection {
    if selection.current.len() > ID {
        selection.current.clear();
    }
    selection.choices.retain(|choice| choice.id.len() <= ID);
    selection.choices.truncate(CHOICES);
    for Alternative {
        name,
        description,
        group,
        ..
    } in &mut selection.choices
    {
        cut(name);
        cut(description);
        cut(group);
    }
    selection
}

fn cut(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(TEXT) {
        text.truncate(end);
        text.push('…');
    }
}

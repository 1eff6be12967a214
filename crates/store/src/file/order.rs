//! Which value a statement takes where.
//!
//! Texts say `$2` for the second value. SQLite gives parameters numbers of its own, in the order in which they occur, and looks
//! a name up among all of them: so it is asked once for each text.

use std::collections::HashMap;

use rusqlite::Statement;

use crate::sql::Value;

/// The numbers of the values of a statement, in the order in which it takes them.
#[derive(Debug)]
pub(super) struct Order(Box<[usize]>);

/// The orders of texts that are always the same.
#[derive(Debug, Default)]
pub(super) struct Orders(HashMap<Place, Order>);

/// Where such a text is, which no other ever is.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Place {
    address: usize,
    length: usize,
}

impl Orders {
    /// The order of `statement`, which was made of `text`.
    pub(super) fn of(&mut self, text: &'static str, statement: &Statement<'_>) -> &Order {
        let place = Place {
            address: text.as_ptr().addr(),
            length: text.len(),
        };
        self.0.entry(place).or_insert_with(|| Order::of(statement))
    }
}

impl Order {
    /// A file numbers parameters as they occur, and knows `$2` by its name.
    pub(super) fn of(statement: &Statement<'_>) -> Self {
        let numbers = (1..=statement.parameter_count()).map(|index| {
            let name = statement.parameter_name(index);
            // No value has the number of a parameter that is called otherwise.
            name.and_then(|name| name.strip_prefix('$')?.parse().ok())
                .unwrap_or(0)
        });
        Self(numbers.collect())
    }

    /// Gives a statement its values.
    pub(super) fn give(
        &self,
        statement: &mut Statement<'_>,
        values: &[Value<'_>],
    ) -> Result<(), rusqlite::Error> {
        for (index, number) in (1..).zip(&self.0) {
            let value = number.checked_sub(1).and_then(|place| values.get(place));
            let missing = rusqlite::Error::InvalidParameterCount(values.len(), self.0.len());
            statement.raw_bind_parameter(index, value.ok_or(missing)?)?;
        }
        Ok(())
    }
}

//! The tables of a file, brought up to date.
//!
//! What was done is noted as sqlx notes it, in `_sqlx_migrations`: that is what earlier versions did and what is done on a
//! server.

use std::collections::BTreeMap;
use std::time::Instant;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use sqlx::migrate::{MigrateError, Migration, Migrator};

use crate::error::DatabaseError;

/// Does what is left of `migrator`, all of it or nothing.
pub(super) fn bring_up_to_date(
    connection: &mut Connection,
    migrator: &Migrator,
) -> Result<(), DatabaseError> {
    const MAKE_LIST: &str = "CREATE TABLE IF NOT EXISTS _sqlx_migrations ( \
         version BIGINT PRIMARY KEY, description TEXT NOT NULL, \
         installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL, \
         checksum BLOB NOT NULL, execution_time BIGINT NOT NULL)";

    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute(MAKE_LIST, ())?;
    let mut done = done(&transaction)?;
    for migration in migrator.iter() {
        match done.remove(&migration.version) {
            Some((_, is_whole)) if !is_whole => {
                return Err(MigrateError::Dirty(migration.version).into());
            }
            Some((checksum, _)) if checksum != *migration.checksum => {
                return Err(MigrateError::VersionMismatch(migration.version).into());
            }
            Some(_) => {}
            None => apply(&transaction, migration)?,
        }
    }
    // A later version has done more with it than is known here.
    if let Some(version) = done.keys().next() {
        return Err(MigrateError::VersionMissing(*version).into());
    }
    transaction.commit()?;
    Ok(())
}

/// What was done to the file: the checksums by version, and whether each was done to the end.
fn done(transaction: &Transaction<'_>) -> Result<BTreeMap<i64, (Vec<u8>, bool)>, rusqlite::Error> {
    const LIST: &str = "SELECT version, checksum, success FROM _sqlx_migrations";
    let mut statement = transaction.prepare(LIST)?;
    let rows = statement.query_map((), |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    rows.collect()
}

fn apply(transaction: &Transaction<'_>, migration: &Migration) -> Result<(), rusqlite::Error> {
    const NOTE: &str = "INSERT INTO _sqlx_migrations \
         (version, description, success, checksum, execution_time) VALUES (?1, ?2, TRUE, ?3, ?4)";
    let began = Instant::now();
    transaction.execute_batch(migration.sql.as_str())?;
    let took = i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX);
    let Migration {
        version,
        description,
        checksum,
        ..
    } = migration;
    transaction.execute(NOTE, (version, &**description, &**checksum, took))?;
    Ok(())
}

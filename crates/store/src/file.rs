//! The ledger in a file: one connection, which its users have one after the other.
//!
//! Statements run in the task that has the connection, prepared once each. Nothing is awaited between the beginning of a
//! transaction and its end but the connection itself, so nobody can be cancelled within one; whoever leaves it all the
//! same, with an error or a panic, has rolled it back.

mod aside;
mod gathered;
mod ground;
mod log_files;
mod order;
mod tables;

pub(crate) use aside::aside;
pub use ground::Ground;

use crate::file::aside::Pace;
use crate::file::order::{Order, Orders};

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use countersign_core::digest::Digest;
use countersign_core::id::WorkspaceId;
use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags, Statement};
use sqlx::migrate::Migrator;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::error::{DatabaseError, StoreError};
use crate::sql::{Columns, FromRow, Row, Sql, Value};

/// How long another process may hold the file while it is opened.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// How many pages the log has when it is emptied, as SQLite has it by itself.
const LONG_LOG: c_int = 1_000;
/// How many statements are kept prepared: more than there are.
const PREPARED: usize = 256;
/// Nobody closes what somebody holds.
const IS_OPEN: &str = "a connection that is held is open";

/// The one connection to the ledger's file.
#[derive(Debug, Clone)]
pub(crate) struct LedgerFile {
    line: Arc<Mutex<Line>>,
    patience: Duration,
    /// The log, which has everything that is committed first.
    log: PathBuf,
    /// The number of the newest event that is known to be on the disk.
    synced: Arc<AtomicI64>,
}

#[derive(Debug)]
struct Line {
    /// `None` once it is closed.
    connection: Option<Connection>,
    /// What was added last, as far as it was looked at: nobody else writes to the file.
    heads: Heads,
    /// What the disk lately took.
    pace: Pace,
    /// What has to be on the disk before what was committed unsynced is.
    grounds: Vec<Ground>,
    /// How the statements that are always the same take their values.
    orders: Orders,
}

/// When what is committed is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Commits {
    /// As soon as it is committed.
    Synced,
    /// With the next commit that is synced, or when the log is emptied.
    Unsynced,
}

/// What was added last.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    /// The ends of the audit's chains: the place and the hash of the newest entry of each.
    pub(crate) audit: BTreeMap<WorkspaceId, (i64, Digest)>,
    /// The number of the newest event.
    pub(crate) events: Option<i64>,
}

/// The connection, for as long as somebody has it.
#[derive(Debug)]
pub(crate) struct Held(OwnedMutexGuard<Line>);

/// A transaction, which is rolled back unless it is committed.
#[derive(Debug)]
pub(crate) struct FileTransaction {
    held: Held,
    commits: Commits,
    synced: Arc<AtomicI64>,
}

impl LedgerFile {
    /// Opens the file, and makes it if it is not there. Whoever waits longer than `patience` for the connection is told
    /// that it is busy.
    pub(crate) async fn open(path: &Path, patience: Duration) -> Result<Self, DatabaseError> {
        let mut log = path.to_owned().into_os_string();
        log.push("-wal");
        let path = path.to_owned();
        let opening = tokio::task::spawn_blocking(move || connect(&path));
        // It gives nothing back only where nothing runs any more.
        let connection = opening.await.map_err(|_| DatabaseError::Closed)??;
        let line = Line {
            connection: Some(connection),
            heads: Heads::default(),
            pace: Pace::default(),
            grounds: Vec::new(),
            orders: Orders::default(),
        };
        Ok(Self {
            line: Arc::new(Mutex::new(line)),
            patience,
            log: log.into(),
            synced: Arc::default(),
        })
    }

    /// Brings the tables up to date.
    pub(crate) async fn migrate(&self, migrator: &Migrator) -> Result<(), StoreError> {
        let mut held = self.hold().await?;
        aside(|| tables::bring_up_to_date(held.connection(), migrator)).map_err(StoreError::Migrate)
    }

    /// Waits for the connection.
    pub(crate) async fn hold(&self) -> Result<Held, DatabaseError> {
        let line = if let Ok(line) = Arc::clone(&self.line).try_lock_owned() {
            line
        } else {
            let line = Arc::clone(&self.line).lock_owned();
            let waited = tokio::time::timeout(self.patience, line).await;
            waited.map_err(|_| DatabaseError::Busy)?
        };
        if line.connection.is_none() {
            return Err(DatabaseError::Closed);
        }
        let mut held = Held(line);
        // Somebody's transaction, which could not be rolled back then.
        held.roll_back()?;
        Ok(held)
    }

    /// Begins a transaction that is going to write.
    pub(crate) async fn begin(&self) -> Result<FileTransaction, DatabaseError> {
        self.begin_with(Commits::Synced).await
    }

    /// Begins a transaction that need not be on the disk when it is committed: the next one that is has it there too.
    /// Until then it outlives this process, and not the machine.
    pub(crate) async fn begin_unsynced(&self) -> Result<FileTransaction, DatabaseError> {
        self.begin_with(Commits::Unsynced).await
    }

    async fn begin_with(&self, commits: Commits) -> Result<FileTransaction, DatabaseError> {
        let mut held = self.hold().await?;
        // Taking the write lock at once: a reader that becomes a writer could be refused.
        held.say("BEGIN IMMEDIATE")?;
        let synced = Arc::clone(&self.synced);
        Ok(FileTransaction {
            held,
            commits,
            synced,
        })
    }

    /// Whether the event of that number is known to be on the disk, with all before it.
    pub(crate) fn has_synced(&self, event: i64) -> bool {
        self.synced.load(Ordering::Acquire) >= event
    }

    /// Has everything on the disk that was committed, without keeping the connection from anybody.
    pub(crate) async fn sync(&self) -> Result<(), DatabaseError> {
        let log = self.log.clone();
        // They stay known until a commit has seen to them: one that comes meanwhile waits for them too.
        let grounds = self.line.lock().await.grounds.clone();
        let syncing = tokio::task::spawn_blocking(move || {
            grounds.iter().for_each(Ground::lay);
            File::open(log)?.sync_data()
        });
        // It gives nothing back only where nothing runs any more.
        let synced = syncing.await.map_err(|_| DatabaseError::Closed)?;
        synced.map_err(DatabaseError::Sync)
    }

    /// Closes the connection behind everybody who waits for it.
    pub(crate) async fn close(&self) {
        let mut line = self.line.lock().await;
        let Some(connection) = line.connection.take() else {
            return;
        };
        let grounds = std::mem::take(&mut line.grounds);
        drop(line);
        let close = move || {
            // It empties the log.
            grounds.iter().for_each(Ground::lay);
            connection.close().map_err(|(_, error)| error)
        };
        if let Ok(Err(error)) = tokio::task::spawn_blocking(close).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the ledger was not closed in order"
            );
        }
    }
}

fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
    // A new file has pages of half the usual length: a commit of ours changes a little in many, and writes each of them whole.
    // Exclusive before the log is begun: then its index is in our memory and in no file. An answer that was accepted has
    // to survive a power cut: so each commit is synced.
    const SETTINGS: &str = "PRAGMA page_size = 2048; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; \
         PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;";
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match log_files::name() {
        Some(files) => Connection::open_with_flags_and_vfs(path, flags, files)?,
        None => Connection::open_with_flags(path, flags)?,
    };
    connection.busy_timeout(LOCK_PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    connection.execute_batch(SETTINGS)?;
    // Otherwise a statement is prepared anew for each value that might find an index which holds some rows only. None of
    // ours counts on it: what has to find such an index says so in its text.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.wal_hook(Some(note_length));
    Ok(connection)
}

thread_local! {
    /// How many pages the log had after the last commit of this thread.
    static LOG_LENGTH: Cell<c_int> = const { Cell::new(0) };
}

/// Is called within a commit, by its thread.
#[expect(
    clippy::unnecessary_wraps,
    reason = "what is called after a commit may refuse, in general"
)]
fn note_length(_: &Wal, pages: c_int) -> Result<(), rusqlite::Error> {
    LOG_LENGTH.set(pages);
    Ok(())
}

impl Held {
    /// Runs a statement that returns nothing. Outside a transaction it is one by itself, and waits for the disk.
    pub(crate) fn execute(
        &mut self,
        sql: &Sql,
        values: &[Value<'_>],
    ) -> Result<u64, DatabaseError> {
        let waits_for_disk = self.connection().is_autocommit();
        let execute = |held: &mut Self| {
            held.prepared(sql, |statement, order| {
                order.give(statement, values)?;
                Ok(statement.raw_execute()?)
            })
        };
        let rows_affected = if waits_for_disk {
            let done = self.durably(execute);
            self.empty_log();
            done?
        } else {
            execute(self)?
        };
        Ok(u64::try_from(rows_affected).unwrap_or(u64::MAX))
    }

    /// Does what waits until it is on the disk, with everything that was committed before.
    fn durably<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let began = Instant::now();
        let work = |held: &mut Self| {
            held.lay_grounds();
            work(held)
        };
        let done = if self.0.pace.is_good() {
            work(self)
        } else {
            aside(|| work(self))
        };
        self.0.pace.learn(began);
        done
    }

    /// Runs a statement that returns rows, of which the first `most` are wanted.
    pub(crate) fn fetch<T: FromRow>(
        &mut self,
        sql: &Sql,
        values: &[Value<'_>],
        most: usize,
    ) -> Result<Vec<T>, DatabaseError> {
        self.prepared(sql, |statement, order| {
            order.give(statement, values)?;
            let places = places(statement, T::COLUMNS)?;
            let mut rows = statement.raw_query();
            let mut found = Vec::new();
            while found.len() < most
                && let Some(row) = rows.next()?
            {
                let row = Row::File {
                    row,
                    places: &places,
                };
                found.push(T::from_row(&mut Columns::of(&row))?);
            }
            Ok(found)
        })
    }

    /// Does something with a statement, which is prepared once if it is always the same.
    fn prepared<T>(
        &mut self,
        sql: &Sql,
        run: impl FnOnce(&mut Statement<'_>, &Order) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let line = &mut *self.0;
        let connection = line.connection.as_mut().expect(IS_OPEN);
        match sql {
            Sql::Constant(sql) => {
                let mut statement = connection.prepare_cached(sql)?;
                let order = line.orders.of(sql, &statement);
                run(&mut statement, order)
            }
            Sql::Made(sql) => {
                let mut statement = connection.prepare(sql)?;
                let order = Order::of(&statement);
                run(&mut statement, &order)
            }
        }
    }

    /// Runs a statement that takes and returns nothing.
    fn say(&mut self, sql: &'static str) -> Result<(), rusqlite::Error> {
        self.connection().prepare_cached(sql)?.raw_execute()?;
        Ok(())
    }

    /// Has on the disk what has to be there before what was committed.
    fn lay_grounds(&mut self) {
        for ground in self.0.grounds.drain(..) {
            ground.lay();
        }
    }

    /// Carries what is in the log over into the file, when it is long: that follows a commit now and then, and takes longer
    /// than the commit.
    fn empty_log(&mut self) {
        if LOG_LENGTH.get() < LONG_LOG {
            return;
        }
        let emptied = aside(|| {
            self.lay_grounds();
            self.connection()
                .execute_batch("PRAGMA wal_checkpoint(PASSIVE)")
        });
        LOG_LENGTH.set(0);
        if let Err(error) = emptied {
            // What was committed is in the log. It is tried again with the next commit.
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the ledger's log could not be emptied"
            );
        }
    }

    /// Ends the transaction that is open, if one is.
    fn roll_back(&mut self) -> Result<(), rusqlite::Error> {
        if self.connection().is_autocommit() {
            return Ok(());
        }
        self.say("ROLLBACK")
    }

    fn connection(&mut self) -> &mut Connection {
        self.0.connection.as_mut().expect(IS_OPEN)
    }
}

/// The places of the columns called `names`.
fn places(statement: &Statement<'_>, names: &[&str]) -> Result<Vec<usize>, rusqlite::Error> {
    let count = statement.column_count();
    let mut next = 0;
    let mut places = Vec::with_capacity(names.len());
    for name in names {
        // Mostly they are wanted in the order in which they are there.
        let mut candidates = (next..count).chain(0..next);
        let is_it = |place: &usize| statement.column_name(*place).is_ok_and(|it| it == *name);
        let place = candidates
            .find(is_it)
            .ok_or_else(|| rusqlite::Error::InvalidColumnName((*name).to_owned()))?;
        next = place + 1;
        places.push(place);
    }
    Ok(places)
}

impl FileTransaction {
    /// The connection, within the transaction.
    pub(crate) fn held(&mut self) -> &mut Held {
        &mut self.held
    }

    /// The end of a chain, if it was looked at before.
    pub(crate) fn audit_head(&self, workspace: WorkspaceId) -> Option<(i64, Digest)> {
        self.held.0.heads.audit.get(&workspace).copied()
    }

    /// Says that what is committed here stands on `ground`.
    pub(crate) fn stand_on(&mut self, ground: Ground) {
        self.held.0.grounds.push(ground);
    }

    /// The number of the newest event, if it was looked at before.
    pub(crate) fn event_head(&self) -> Option<i64> {
        self.held.0.heads.events
    }

    /// Commits. With it `heads` are what was added last.
    pub(crate) fn commit(mut self, heads: Heads) -> Result<(), DatabaseError> {
        // If it fails, it is looked for again.
        let mut known = std::mem::take(&mut self.held.0.heads);
        let commit = |held: &mut Held| held.say("COMMIT");
        match self.commits {
            Commits::Synced => self.held.durably(commit)?,
            Commits::Unsynced => log_files::unsynced(|| commit(&mut self.held))?,
        }
        self.held.empty_log();
        known.audit.extend(heads.audit);
        known.events = heads.events.or(known.events);
        // One that wrote nothing syncs nothing: then nothing before it is on the disk either.
        if self.commits == Commits::Synced
            && let Some(newest) = heads.events
        {
            self.synced.fetch_max(newest, Ordering::Release);
        }
        self.held.0.heads = known;
        Ok(())
    }
}

impl Drop for FileTransaction {
    fn drop(&mut self) {
        if let Err(error) = self.held.roll_back() {
            // Whoever has the connection next tries again.
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "a transaction was not rolled back at once"
            );
        }
    }
}

#[cfg(test)]
mod tests;

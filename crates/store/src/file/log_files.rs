//! The files of SQLite, with a log that has each commit written in one piece.
//!
//! SQLite reaches files by a table of functions, its VFS. Ours is the one that it has by itself but for the opening of a
//! log: in front of that file stands one of ours, which gathers what is written (`gathered`), does not wait for the disk where
//! a commit need not ([`unsynced`]), and leaves everything else to it.

#![expect(
    unsafe_code,
    reason = "SQLite is C, and so are its tables of functions"
)]

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::slice;
use std::sync::OnceLock;

use rusqlite::ffi::{
    SQLITE_IOERR, SQLITE_IOERR_CLOSE, SQLITE_IOERR_WRITE, SQLITE_OK, SQLITE_OPEN_WAL, sqlite3_file,
    sqlite3_filename, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs, sqlite3_vfs_find,
    sqlite3_vfs_register,
};

use super::gathered::{Gathered, Log};

/// What our files are called.
const NAME: &CStr = c"countersign";

/// A log of ours: SQLite sees a file, the head of which is this. The file that it stands in front of follows it, in memory
/// that SQLite provides.
#[repr(C)]
struct LogFile {
    head: sqlite3_file,
    gathered: Gathered,
}

/// The file behind a log of ours.
struct Behind(*mut sqlite3_file);

/// The files that SQLite has by itself. They are there as long as the program is, and any thread may use them.
struct Usual(*mut sqlite3_vfs);

// SAFETY: SQLite's own table of functions, which SQLite itself uses from every thread and never changes.
unsafe impl Send for Usual {}
// SAFETY: as above.
unsafe impl Sync for Usual {}

static USUAL: OnceLock<Option<Usual>> = OnceLock::new();

/// What the files are called, for whoever opens a ledger. Nothing if there can be none of ours: then the usual ones do.
pub(super) fn name() -> Option<&'static CStr> {
    let usual = USUAL.get_or_init(register);
    usual.as_ref().map(|_| NAME)
}

thread_local! {
    /// Whether commits of this thread need not be on the disk at once.
    static UNSYNCED: Cell<bool> = const { Cell::new(false) };
}

#[cfg(test)]
thread_local! {
    /// How often this thread had a log on the disk.
    pub(super) static SYNCS: Cell<usize> = const { Cell::new(0) };
}

/// Does `commit`, in which what is committed need not be on the disk at once. Otherwise each commit is, as SQLite has it.
pub(super) fn unsynced<T>(commit: impl FnOnce() -> T) -> T {
    /// Also after a panic the next commit is on the disk at once.
    struct Synced;

    impl Drop for Synced {
        fn drop(&mut self) {
            UNSYNCED.set(false);
        }
    }

    UNSYNCED.set(true);
    let _synced = Synced;
    commit()
}

fn register() -> Option<Usual> {
    // What SQLite provides lies at a multiple of eight, as ours has to, and what is behind ours then does too.
    const _: () = assert!(align_of::<LogFile>() <= 8 && size_of::<LogFile>().is_multiple_of(8));
    let ahead = c_int::try_from(size_of::<LogFile>()).ok()?;
    // SAFETY: nothing asks for the files that are usual.
    let usual = unsafe { sqlite3_vfs_find(ptr::null()) };
    // SAFETY: it is null, or a table that stays as long as the program.
    let known = unsafe { usual.as_ref()? };
    // What is ours for good, as SQLite keeps it: the same functions, which take what else they need from `pAppData`.
    let ours = Box::leak(Box::new(sqlite3_vfs {
        szOsFile: known.szOsFile.checked_add(ahead)?,
        pNext: ptr::null_mut(),
        zName: NAME.as_ptr(),
        xOpen: Some(open),
        ..*known
    }));
    // SAFETY: it is a whole table, and stays as long as the program.
    let registered = unsafe { sqlite3_vfs_register(ours, 0) };
    (registered == SQLITE_OK).then_some(Usual(usual))
}

/// Calls a function of the file behind; a file that lacks it fails.
macro_rules! behind {
    ($file:expr, $function:ident $(, $argument:expr)*) => {{
        let behind = behind($file);
        // SAFETY: it was opened, so it has its functions; whoever calls ours gives what these want.
        match unsafe { (*(*behind).pMethods).$function } {
            // SAFETY: as above.
            Some(function) => unsafe { function(behind $(, $argument)*) },
            None => SQLITE_IOERR,
        }
    }};
}

/// Hands on what is gathered, and then calls a function of the file behind.
///
/// If it cannot be handed on, what was said to be written is not: so it fails as the system, after which SQLite takes the whole
/// transaction back, and never as a disk that is full, after which a transaction could go on.
macro_rules! after_all {
    ($file:expr, $function:ident $(, $argument:expr)*) => {{
        match hand_on($file) {
            SQLITE_OK => behind!($file, $function $(, $argument)*),
            _ => SQLITE_IOERR_WRITE,
        }
    }};
}

/// The file behind a log of ours.
fn behind(file: *mut sqlite3_file) -> *mut sqlite3_file {
    file.cast::<LogFile>().wrapping_add(1).cast()
}

/// What a log of ours has gathered.
///
/// # Safety
/// `file` is one that [`open`] made a log of, nobody else has it just now, and it is not closed.
unsafe fn gathered<'a>(file: *mut sqlite3_file) -> &'a mut Gathered {
    // SAFETY: see above.
    unsafe { &mut (*file.cast::<LogFile>()).gathered }
}

fn hand_on(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite calls our functions with a file that we opened, from one thread at a time.
    let gathered = unsafe { gathered(file) };
    code(gathered.hand_on(&mut Behind(file)))
}

fn code(outcome: Result<(), c_int>) -> c_int {
    outcome.err().unwrap_or(SQLITE_OK)
}

impl Log for Behind {
    type Error = c_int;

    fn write(&mut self, content: &[u8], at: i64) -> Result<(), c_int> {
        let length = c_int::try_from(content.len()).map_err(|_| SQLITE_IOERR)?;
        match behind!(self.0, xWrite, content.as_ptr().cast(), length, at) {
            SQLITE_OK => Ok(()),
            failed => Err(failed),
        }
    }
}

static FUNCTIONS: sqlite3_io_methods = sqlite3_io_methods {
    // Without shared memory and mapped pages, which logs have none of.
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    name: sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    let Some(Usual(usual)) = USUAL.get().and_then(Option::as_ref) else {
        return SQLITE_IOERR;
    };
    let is_log = flags & SQLITE_OPEN_WAL != 0;
    let opened = if is_log { behind(file) } else { file };
    // SAFETY: the table stays as long as the program; SQLite provides memory for both files, one behind the other.
    let Some(open) = (unsafe { (**usual).xOpen }) else {
        return SQLITE_IOERR;
    };
    // SAFETY: with what SQLite called us with.
    let outcome = unsafe { open(*usual, name, opened, flags, flags_out) };
    if !is_log {
        return outcome;
    }
    let head = sqlite3_file {
        pMethods: if outcome == SQLITE_OK {
            &raw const FUNCTIONS
        } else {
            // Nobody closes it then.
            ptr::null()
        },
    };
    let gathered = Gathered::default();
    // SAFETY: it is memory for a file of ours, and nothing is there yet.
    unsafe { file.cast::<LogFile>().write(LogFile { head, gathered }) };
    outcome
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    let handed_on = hand_on(file);
    let closed = behind!(file, xClose);
    // SAFETY: SQLite does not use a file again that it has closed, and its memory is its own.
    unsafe { ptr::drop_in_place(&raw mut (*file.cast::<LogFile>()).gathered) };
    if handed_on == SQLITE_OK {
        closed
    } else {
        SQLITE_IOERR_CLOSE
    }
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    to: *mut c_void,
    length: c_int,
    at: sqlite3_int64,
) -> c_int {
    after_all!(file, xRead, to, length, at)
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    content: *const c_void,
    length: c_int,
    at: sqlite3_int64,
) -> c_int {
    let Ok(length) = usize::try_from(length) else {
        return SQLITE_IOERR;
    };
    // SAFETY: SQLite gives as many bytes as it says, and leaves them alone meanwhile.
    let content = unsafe { slice::from_raw_parts(content.cast::<u8>(), length) };
    // SAFETY: as in `hand_on`.
    let gathered = unsafe { gathered(file) };
    code(gathered.write(content, at, &mut Behind(file)))
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    let outcome = after_all!(file, xTruncate, size);
    // SAFETY: as in `hand_on`.
    unsafe { gathered(file) }.cut(size);
    outcome
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: as in `hand_on`.
    let is_whole = unsafe { gathered(file) }.is_whole();
    // The head of a log that begins anew is on the disk before what follows it, whatever comes of the commit.
    if is_whole && UNSYNCED.get() {
        return hand_on(file);
    }
    #[cfg(test)]
    SYNCS.set(SYNCS.get() + 1);
    after_all!(file, xSync, flags)
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, size: *mut sqlite3_int64) -> c_int {
    after_all!(file, xFileSize, size)
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    behind!(file, xLock, level)
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    behind!(file, xUnlock, level)
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite3_file, outcome: *mut c_int) -> c_int {
    behind!(file, xCheckReservedLock, outcome)
}

unsafe extern "C" fn file_control(
    file: *mut sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    after_all!(file, xFileControl, operation, argument)
}

unsafe extern "C" fn sector_size(file: *mut sqlite3_file) -> c_int {
    behind!(file, xSectorSize)
}

unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    behind!(file, xDeviceCharacteristics)
}

//! How much memory and time something took, held against what it may take.
//!
//! Memory is counted by the allocator, for each thread by itself: a program that wants to know has to make [`Counting`] its
//! global one. Where it is not, nothing is counted and every ration of memory holds.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::finding::{Broken, hold};

/// Memory that may be taken whatever was fed, and for each byte of it.
///
/// Every session that is fed at once may take that much, and the whole server has to stay within 64 MB.
const BYTES: usize = 12 << 20;
const BYTES_EACH: usize = 12;
/// Time that may be taken whatever was fed; a machine that is busy with other things takes some of it.
const TIME: Duration = Duration::from_secs(2);

thread_local! {
    static TAKEN: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, with a count for each thread.
#[derive(Debug)]
pub struct Counting;

#[expect(
    unsafe_code,
    reason = "an allocator is nothing else; every call goes on to the system's as it came"
)]
// SAFETY: what is promised of an allocator is what the system's keeps; counting touches no memory that it hands out.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller keeps what it promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: the caller keeps what it promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        give_back(layout.size());
        take(size);
        // SAFETY: the caller keeps what it promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn take(size: usize) {
    // A thread that is ending has nothing to count with any more.
    let _ended = TAKEN.try_with(|taken| {
        let now = taken.get().wrapping_add(size);
        taken.set(now);
        // What another thread gave back here is below nothing.
        let _ended = MOST.try_with(|most| {
            if isize::try_from(now).is_ok() {
                most.set(most.get().max(now));
            }
        });
    });
}

fn give_back(size: usize) {
    let _ended = TAKEN.try_with(|taken| taken.set(taken.get().wrapping_sub(size)));
}

/// Does `deed` with `fed` bytes, and fails if it took more than that allows.
pub fn within<T>(fed: usize, deed: impl FnOnce() -> T) -> Result<T, Broken> {
    let before = TAKEN.get();
    MOST.set(before);
    let began = Instant::now();
    let done = deed();
    let (took, most) = (began.elapsed(), MOST.get().saturating_sub(before));
    let may = BYTES + BYTES_EACH * fed;
    hold!(
        most <= may,
        "{most} bytes of memory were taken for {fed}, where {may} are allowed"
    );
    hold!(
        took <= TIME,
        "{} ms were taken for {fed} bytes",
        took.as_millis()
    );
    Ok(done)
}

//! How fast the disk makes things durable: the baseline of everything that is.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::samples::rate;

/// As much as one page of the ledger.
const BLOCK: usize = 4 << 10;
/// As long as the ledger's log is before it is written from its beginning again.
const BLOCKS: usize = 1_000;

/// Writes blocks into a file below `directory`, each made durable before the next, for as long as `limit`, and
/// returns how many there were in a second.
pub(crate) fn durable_blocks(directory: &Path, limit: Duration) -> anyhow::Result<f64> {
    let file = tempfile::tempfile_in(directory).context("failed to make a file")?;
    let block = [0x5a; BLOCK];
    fill(&file, &block)?;
    let mut count = 0;
    let began = Instant::now();
    while began.elapsed() < limit {
        write_block(&file, &block, count % BLOCKS)?;
        file.sync_data().context("failed to make a block durable")?;
        count += 1;
    }
    Ok(rate(count, began.elapsed()))
}

/// The file has its length before: so does the ledger's log most of the time.
fn fill(file: &File, block: &[u8]) -> anyhow::Result<()> {
    for index in 0..BLOCKS {
        write_block(file, block, index)?;
    }
    file.sync_all().context("failed to make a file durable")
}

fn write_block(file: &File, block: &[u8], index: usize) -> anyhow::Result<()> {
    let offset = u64::try_from(index * BLOCK).context("the file is too long")?;
    file.write_all_at(block, offset)
        .context("failed to write a block")
}

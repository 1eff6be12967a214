//! What was said to the agents, held against what they asked.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use countersign_engine::acp::lines::{LINE_LIMIT, Piece};
use countersign_engine::acp::message::{self, Incoming};
use serde_json::Value;

use crate::oracle::Offers;
use crate::reader::whole;

/// Looks through everything that was said in one session, and returns how many requests and replies there were.
///
/// Fails unless every request had a reply, none had more than it was asked, and none was a yes.
pub(super) fn look_through(files: &[PathBuf]) -> anyhow::Result<(u64, u64)> {
    let (mut said, mut heard) = (Vec::new(), String::new());
    for file in files {
        said.extend(std::fs::read(file.with_extension("said")).context("an agent said nothing")?);
        let replies =
            std::fs::read(file.with_extension("heard")).context("an agent heard nothing")?;
        heard.push_str(&String::from_utf8(replies).context("a reply is no text")?);
    }
    let mut balance: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for piece in whole(&said, LINE_LIMIT) {
        if let Piece::Line(line) = piece
            && let Incoming::Request { id, .. } = message::read(&line.text)
        {
            balance.entry(id.text().to_owned()).or_default().0 += 1;
        }
    }
    let offers = Offers::read(String::from_utf8_lossy(&said).lines());
    for line in heard.lines() {
        if let Incoming::Response { id, .. } = message::read(line) {
            balance.entry(id.text().to_owned()).or_default().1 += 1;
        }
        is_no(line, &offers)?;
    }
    for (id, (asked, replied)) in &balance {
        ensure!(
            (1..=*asked).contains(replied),
            "the request {id} came {asked} times and was answered {replied} times"
        );
    }
    let sum = |of: fn(&(u64, u64)) -> u64| balance.values().map(of).sum();
    Ok((sum(|(asked, _)| *asked), sum(|(_, replied)| *replied)))
}

/// Fails if a reply says yes: everything was denied.
fn is_no(reply: &str, offers: &Offers) -> anyhow::Result<()> {
    let told: Value = serde_json::from_str(reply).context("a reply is no JSON")?;
    ensure!(
        told["result"]["action"] != "accept",
        "a question was answered: {reply}"
    );
    let chosen = told
        .pointer("/result/outcome/optionId")
        .and_then(Value::as_str);
    let Some(chosen) = chosen else {
        return Ok(());
    };
    ensure!(
        offers.has(&told["id"], chosen, "reject_once"),
        "an option was chosen that is no refusal: {reply}"
    );
    Ok(())
}

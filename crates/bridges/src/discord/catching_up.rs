//! What was said while Discord did not remember us: read in every channel that we are for, in the threads there that went
//! on, and in the direct conversations that there were.

use reqwest::Method;
use serde_json::Value;

use super::client::send;
use super::following::Cursor;
use super::{Discord, channel_called, events, number, thread_of};
use crate::adapter::{Failure, Place};
use crate::intake::{Intake, Stopped};

/// How many messages are read at once, and how often: what is older is nobody's wish any more.
const PAGE: usize = 100;
const MOST_PAGES: usize = 200;

/// Where something may have been said.
struct Gap {
    channel: u64,
    place: Place,
    is_direct: bool,
}

impl Discord {
    /// Hands in what was said after `cursor`, which goes forward with it.
    pub(super) async fn catch_up(
        &self,
        cursor: &mut Cursor,
        me: u64,
        intake: &Intake,
    ) -> Result<Option<Stopped>, Failure> {
        let since = cursor.since;
        let direct = cursor.direct.iter().map(|channel| Gap {
            channel: *channel,
            place: channel_called(*channel),
            is_direct: true,
        });
        let mut gaps: Vec<Gap> = direct.collect();
        gaps.extend(self.gaps(since).await?);
        for gap in gaps {
            let mut after = since;
            for _ in 0..MOST_PAGES {
                let messages = self.said_after(gap.channel, after).await?;
                let mut happenings = Vec::new();
                for message in &messages {
                    after = after.max(number(&message["id"]).unwrap_or_default());
                    let place = gap.place.clone();
                    happenings.extend(events::message(message, place, gap.is_direct, me));
                }
                // Not with a cursor: until all of it is read, all of it has to be read again.
                if !happenings.is_empty() && intake.take(happenings, None).await.is_err() {
                    return Ok(Some(Stopped));
                }
                if messages.len() < PAGE {
                    break;
                }
            }
            cursor.saw(after, None);
        }
        Ok(None)
    }

    /// The channels that we are for, and their threads in which something was said since.
    async fn gaps(&self, since: u64) -> Result<Vec<Gap>, Failure> {
        let mut gaps = Vec::new();
        let mut guilds = Vec::new();
        for channel in &self.channels {
            let Some(found) = self.read(format!("channels/{channel}")).await? else {
                continue;
            };
            gaps.push(Gap {
                channel: *channel,
                place: channel_called(*channel),
                is_direct: false,
            });
            let put_away = format!("channels/{channel}/threads/archived/public?limit={PAGE}");
            let put_away = self.read(put_away).await?.unwrap_or_default();
            gaps.extend(self.threads(&put_away, since));
            guilds.extend(number(&found["guild_id"]));
        }
        guilds.sort_unstable();
        guilds.dedup();
        for guild in guilds {
            let path = format!("guilds/{guild}/threads/active");
            let active = self.read(path).await?.unwrap_or_default();
            gaps.extend(self.threads(&active, since));
        }
        Ok(gaps)
    }

    fn threads(&self, found: &Value, since: u64) -> Vec<Gap> {
        let gap = |thread: &Value| {
            let (channel, parent) = (number(&thread["id"])?, number(&thread["parent_id"])?);
            let last = number(&thread["last_message_id"])?;
            (last > since && self.channels.contains(&parent)).then(|| Gap {
                channel,
                place: thread_of(parent, channel),
                is_direct: false,
            })
        };
        let threads = found["threads"].as_array().into_iter().flatten();
        threads.filter_map(gap).collect()
    }

    /// What was said in a channel after a message, the oldest first.
    async fn said_after(&self, channel: u64, after: u64) -> Result<Vec<Value>, Failure> {
        let path = format!("channels/{channel}/messages?after={after}&limit={PAGE}");
        let found = self.read(path).await?.unwrap_or_default();
        let mut messages = found.as_array().cloned().unwrap_or_default();
        messages.sort_by_key(|message| number(&message["id"]));
        Ok(messages)
    }

    /// What is there, if we may see it.
    async fn read(&self, path: String) -> Result<Option<Value>, Failure> {
        let found = send(self.client.call(Method::GET, path)).await;
        match found.map_err(Failure::from) {
            Ok(found) => Ok(Some(found)),
            Err(Failure::Gone(_) | Failure::Refused(_)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

//! Logs as a script says them, for tests: real lines with their places, and what a plain reading of all of them
//! shows.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use proptest::prelude::*;

use super::{Fact, Head, Message, MessageKey, Receipt, read_head};
use crate::time::Timestamp;

/// One line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    Message(char),
    /// The copy that was put back for the n-th time.
    PutBack(char, u32),
    /// A message that carries its own acknowledgement.
    Inline(char),
    Delivered(char),
    DeadLettered(char),
    Notified(char),
    Blank,
    Damage,
}

use Said::{Blank, Damage, DeadLettered, Delivered, Inline, Notified, PutBack};

/// A line where it stands.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) said: Said,
    pub(super) at: u64,
    pub(super) end: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) head: Option<Head>,
}

pub(super) fn key(id: char) -> MessageKey {
    MessageKey::of(&id.to_string())
}

fn message(id: char, redelivery: u32) -> Message {
    Message {
        id: id.to_string(),
        from: "w1".into(),
        to: "w2".into(),
        body: "x".into(),
        timestamp: "2026-11-30T16:22:28.904Z".into(),
        reply_to: None,
        intent: None,
        idempotency_key: None,
        verified: None,
        redelivery,
    }
}

impl Said {
    fn bytes(self) -> Vec<u8> {
        let now = Timestamp::from_millis(0);
        let receipt = |receipt: &Receipt| serde_json::to_vec(receipt).unwrap();
        match self {
            Said::Message(id) => serde_json::to_vec(&message(id, 0)).unwrap(),
            PutBack(id, times) => serde_json::to_vec(&message(id, times)).unwrap(),
            Inline(id) => {
                let mut json = serde_json::to_value(message(id, 0)).unwrap();
                json["deliveredAt"] = "2026-11-30T16:22:29.000Z".into();
                serde_json::to_vec(&json).unwrap()
            }
            Delivered(id) => receipt(&Receipt::delivered(&id.to_string(), now)),
            DeadLettered(id) => receipt(&Receipt::noted(
                &id.to_string(),
                Fact::DeadLettered,
                now,
                None,
            )),
            Notified(id) => receipt(&Receipt::noted(&id.to_string(), Fact::Notified, now, None)),
            Blank => Vec::new(),
            Damage => Vec::from(&b"{\"type\":\"message\",\"id\":\"a\",\"from\":\"w1\",\"bo"[..]),
        }
    }
}

/// The lines of `script`, one after the other.
pub(super) fn placed(script: &[Said]) -> Vec<Placed> {
    let mut end = 0;
    let lines = script.iter().map(|said| {
        let (at, bytes) = (end, said.bytes());
        end += bytes.len() as u64 + 1;
        let head = read_head(&bytes).ok();
        Placed {
            said: *said,
            at,
            end,
            bytes,
            head,
        }
    });
    lines.collect()
}

/// What a plain reading of the whole log says about one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fate {
    pub(super) id: char,
    /// Its first line.
    pub(super) at: u64,
    /// The last line that acknowledges it.
    pub(super) delivered: Option<u64>,
    /// The last line that gives it up, if nothing puts it back after that.
    pub(super) dead: Option<u64>,
    /// The line from which it is open.
    pub(super) open: Option<u64>,
}

/// What a plain reading says about each message, in the order of their first lines: the rule that the index and the
/// listing are held against.
pub(super) fn fates(log: &[Placed]) -> Vec<Fate> {
    let mut fates: Vec<Fate> = Vec::new();
    for line in log {
        if let Said::Message(id) | PutBack(id, _) | Inline(id) = line.said
            && fates.iter().all(|fate| fate.id != id)
        {
            fates.push(fate(log, id));
        }
    }
    fates
}

fn fate(log: &[Placed], id: char) -> Fate {
    let places = |wanted: &dyn Fn(Said) -> bool| -> Vec<u64> {
        let lines = log.iter().filter(|line| wanted(line.said));
        lines.map(|line| line.at).collect()
    };
    let is_copy = |said| matches!(said, PutBack(of, _) if of == id);
    let is_message = |said| said == Said::Message(id) || said == Inline(id) || is_copy(said);
    let delivered = places(&|said| said == Delivered(id) || said == Inline(id));
    let given_up = places(&|said| said == DeadLettered(id)).last().copied();
    let openers = match given_up {
        None => places(&is_message),
        Some(_) => places(&is_copy),
    };
    let open = openers.into_iter().find(|at| Some(*at) > given_up);
    let put_back = places(&is_copy).last().copied();
    Fate {
        id,
        at: places(&is_message)[0],
        delivered: delivered.last().copied(),
        dead: given_up.filter(|_| put_back < given_up),
        open: open.filter(|_| delivered.is_empty()),
    }
}

/// Logs of up to `lines` lines about a few messages, in any order and any contradiction.
pub(super) fn scripts(lines: usize) -> impl Strategy<Value = Vec<Said>> {
    let id = || proptest::char::range('a', 'f');
    let said = prop_oneof![
        6 => id().prop_map(Said::Message),
        2 => (id(), 1..4_u32).prop_map(|(id, times)| PutBack(id, times)),
        1 => id().prop_map(Inline),
        2 => id().prop_map(Delivered),
        3 => id().prop_map(DeadLettered),
        1 => id().prop_map(Notified),
        1 => Just(Blank),
        1 => Just(Damage),
    ];
    proptest::collection::vec(said, 0..lines)
}

/// The ids of messages, for reading assertions.
pub(super) fn names(keys: impl Iterator<Item = MessageKey>) -> String {
    keys.map(|wanted| ('a'..='z').find(|id| key(*id) == wanted).unwrap_or('?'))
        .collect()
}

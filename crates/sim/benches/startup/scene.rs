//! A team in a folder of its own, with mailboxes of a given length.
//!
//! Long mailboxes are written straight in the format on disk, as the reference would have left them: messages, and soon after
//! each ten their delivery receipts. Everything else goes through the binary.

use crate::Outcome;
use crate::programs::{Invocation, Programs};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

const TEAM: &str = "crew";
const WHEN: &str = "2026-01-01T00:00:00.000Z";

/// Team `crew` with the members `a` and `b`.
pub(crate) struct Scene {
    root: PathBuf,
    pitcrew: PathBuf,
}

impl Scene {
    pub(crate) fn new(programs: &Programs, root: &Path) -> Outcome<Self> {
        fs::create_dir_all(root)?;
        let scene = Self {
            root: root.to_path_buf(),
            pitcrew: programs.pitcrew.clone(),
        };
        let init = scene
            .at_root()
            .args(["team", "init", TEAM, "--member", "a", "--member", "b"]);
        init.answer()?;
        Ok(scene)
    }

    fn at_root(&self) -> Invocation {
        Invocation::new(&self.pitcrew).arg("--root").arg(&self.root)
    }

    /// A short command of one member.
    pub(crate) fn command(
        &self,
        member: &str,
        words: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Invocation {
        self.at_root()
            .args(["--team", TEAM, "--as", member])
            .args(words)
    }

    fn folder(&self) -> PathBuf {
        self.root.join(".omp").join("state").join("team").join(TEAM)
    }

    pub(crate) fn mailbox(&self, member: &str) -> PathBuf {
        self.folder()
            .join("mailbox")
            .join(member)
            .with_extension("jsonl")
    }

    /// `length` messages, all but the last `unread` of them delivered.
    pub(crate) fn write_mailbox(&self, member: &str, length: usize, unread: usize) -> Outcome<()> {
        let path = self.mailbox(member);
        fs::create_dir_all(path.parent().ok_or("a mailbox has a folder")?)?;
        let mut file = BufWriter::new(File::create(path)?);
        let delivered = length - unread;
        for first in (0..length).step_by(10) {
            let batch = first..length.min(first + 10);
            for number in batch.clone() {
                let (id, body) = (
                    id(number),
                    format!("message {number}: how far are you with your part?"),
                );
                let message = json!({"type": "message", "id": id, "from": "a", "to": member, "body": body, "timestamp": WHEN});
                writeln!(file, "{message}")?;
            }
            for number in batch.filter(|number| *number < delivered) {
                let receipt = json!({"type": "delivery-receipt", "messageId": id(number), "deliveredAt": WHEN});
                writeln!(file, "{receipt}")?;
            }
        }
        file.into_inner().map_err(|e| e.into_error())?.sync_all()?;
        Ok(())
    }

    /// One message through the binary and its acknowledgement, so that whatever it keeps beside a mailbox is there.
    /// Afterwards it must list exactly `unread` messages.
    pub(crate) fn settle(&self, member: &str, unread: usize) -> Outcome<()> {
        let sent = self.api(
            "send-message",
            &json!({"from": "a", "to": member, "body": "settle"}),
        )?;
        self.api(
            "mailbox-mark-delivered",
            &json!({"worker": member, "message_id": sent["messageId"]}),
        )?;
        let listed = self.api(
            "mailbox-list",
            &json!({"worker": member, "undelivered_only": true}),
        )?;
        match listed["messages"].as_array().map(Vec::len) {
            Some(found) if found == unread => Ok(()),
            found => Err(format!("{found:?} messages are unread, not {unread}").into()),
        }
    }

    fn api(&self, command: &str, input: &Value) -> Outcome<Value> {
        let mut input = input.clone();
        input["team_name"] = json!(TEAM);
        input["cwd"] = json!(self.root);
        let call = self.at_root().args([
            "team",
            "api",
            command,
            "--json",
            "--input",
            &input.to_string(),
        ]);
        let answer = call.answer()?.stdout;
        serde_json::from_slice(&answer).map_err(|error| format!("{}: {error}", call.line()).into())
    }

    /// Task 1, pending, whatever became of it before.
    pub(crate) fn write_pending_task(&self) -> Outcome<()> {
        let tasks = self.folder().join("tasks");
        fs::create_dir_all(&tasks)?;
        match fs::remove_file(tasks.join("1.lock")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let task = json!({"id": "1", "description": "look around", "status": "pending", "createdAt": WHEN});
        Ok(fs::write(
            tasks.join("1.json"),
            serde_json::to_string_pretty(&task)?,
        )?)
    }

    /// Lines in a mailbox.
    pub(crate) fn lines(&self, member: &str) -> Outcome<usize> {
        let mut lines = 0;
        for line in BufReader::new(File::open(self.mailbox(member))?).split(b'\n') {
            line?;
            lines += 1;
        }
        Ok(lines)
    }
}

/// An id in the form of a version 4 UUID.
fn id(number: usize) -> String {
    format!("{number:08x}-0000-4000-8000-{number:012x}")
}

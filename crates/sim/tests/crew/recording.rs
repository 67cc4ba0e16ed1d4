//! `docs/recording.md`: two agents in panes and their leader, recorded from a real run over a real tmux.
//!
//! The test plays it and compares what was seen with the page, ids, times and process numbers aside, so the page cannot
//! become untrue unnoticed. `PITCREW_RECORD=1` writes the page anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::camp::{Camp, camp, until};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recording.md");

/// How wide panes are.
const WIDTH: usize = 120;

struct Recording<'a> {
    camp: &'a Camp,
    page: String,
    /// Ids, in the order in which they were seen.
    ids: BTreeMap<String, usize>,
}

impl Recording<'_> {
    fn say(&mut self, words: &str) {
        let _ = write!(self.page, "{words}\n\n");
    }

    /// Calls a command as a person at the keyboard does, and keeps what it said on both streams.
    fn call(&mut self, line: &str) {
        let words: Vec<String> = words(line);
        let mut command = self.camp.command(&[]);
        command.args(&words[1..]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        let said = self.settled(&said);
        let _ = write!(self.page, "```text\n$ {line}\n{}\n```\n\n", said.trim_end());
    }

    /// What a member's pane shows.
    fn pane(&mut self, member: &str) {
        let path = self
            .camp
            .team("review", &format!("workers/{member}/pane.json"));
        let record: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let pane = record["paneId"].as_str().unwrap();
        let shown = self.camp.tmux(&["capture-pane", "-p", "-t", pane]);
        let mut text = String::new();
        for row in shown.lines().filter(|row| !row.trim().is_empty()) {
            text.push_str(row.trim_end());
            // Where a line breaks depends on where the project is, so whole lines are kept.
            if row.chars().count() < WIDTH || row.starts_with('─') {
                text.push('\n');
            }
        }
        let text = self.settled(&text);
        let _ = write!(self.page, "```text\n{}\n```\n\n", text.trim_end());
    }

    /// The same text with fixed ids, times and paths.
    fn settled(&mut self, text: &str) -> String {
        let root = self.camp.root();
        let text = text.replace(&*root.to_string_lossy(), "/project");
        let mut out = String::new();
        for line in text.split_inclusive('\n') {
            for word in line.split_inclusive(' ') {
                let plain = word.trim_end();
                let settled = match () {
                    () if is_id(plain) => {
                        let next = self.ids.len() + 1;
                        let at = *self.ids.entry(plain.to_string()).or_insert(next);
                        format!("{at:08x}-6c1b-4d0a-9f0e-2b8f4d6a7c11")
                    }
                    () if is_time(plain) => "2026-11-30T23:41:07.512Z".to_string(),
                    () if out.ends_with("in row ") => "11".to_string(),
                    () => plain.to_string(),
                };
                out.push_str(&settled);
                out.push_str(&word[plain.len()..]);
            }
        }
        out
    }
}

fn is_id(word: &str) -> bool {
    word.len() == 36
        && word
            .bytes()
            .all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

fn is_time(word: &str) -> bool {
    word.len() == 24 && word.ends_with('Z') && word.as_bytes()[10] == b'T'
}

/// The words of a line as a shell splits them.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('\'').enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_string)),
            _ => words.push(part.to_string()),
        }
    }
    words
}

fn taken(camp: &Camp, member: &str, lines: usize) {
    until("a line in the pane", || {
        (camp.taken(member).len() >= lines).then_some(())
    });
    camp.await_ready("review", member);
}

#[test]
fn the_recording_in_the_docs_is_what_happens() {
    let Some(camp) = camp() else { return };
    camp.profile("fake", "--turn-ms 100");
    let mut recording = Recording {
        camp: &camp,
        page: String::new(),
        ids: BTreeMap::new(),
    };
    recording.say(
        "# A recording\n\nTwo agents in panes and their leader. The agents are `pitcrew-fake`, a terminal program that behaves like an \
         agent CLI and has no model behind it; the rest is real. A test plays this page \
         (`crates/sim/tests/crew/recording.rs`); ids, times and the project's path are made equal in it.",
    );
    recording.say("The leader starts them, side by side:");
    recording.call("pitcrew team 2:fake 'Review the parser' --name review");
    taken(&camp, "worker-1", 1);
    taken(&camp, "worker-2", 1);
    recording.say("Each has been told where its page is, by one line in its pane:");
    recording.pane("worker-1");
    recording.say("A message is in the mailbox first. Then its reader is woken, and what came of that is said:");
    recording.call("pitcrew --team review send worker-1 'Look at the error paths first'");
    taken(&camp, "worker-1", 2);
    recording.pane("worker-1");
    recording.say("In its own shell worker-1 needs no names; here they stand, so that you can follow. It reads, asks the other one, and that one answers the leader:");
    recording.call("pitcrew --team review --as worker-1 inbox --next --and-ack");
    recording.call("pitcrew --team review --as worker-1 send worker-2 'Is the lexer yours?'");
    taken(&camp, "worker-2", 2);
    recording.pane("worker-2");
    recording.call("pitcrew --team review --as worker-2 inbox --next --and-ack");
    recording.call(
        "pitcrew --team review --as worker-2 send leader 'The lexer is mine, the rest is free'",
    );
    recording.call("pitcrew --team review inbox");
    recording.say("Where each of the leader's messages stands, and how everybody is:");
    recording.call("pitcrew --team review inbox --sent");
    recording.call("pitcrew --team review who");
    recording.call("pitcrew team shutdown review");
    let page = format!("{}\n", recording.page.trim_end());
    if std::env::var_os("PITCREW_RECORD").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    let kept = fs::read_to_string(Path::new(PAGE)).unwrap_or_default();
    assert_eq!(kept, page, "PITCREW_RECORD=1 writes it anew");
}

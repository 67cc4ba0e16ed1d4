//! The member in a program: what cy does, by the libraries alone.

use std::fs;
use std::path::Path;
use std::time::Duration;

use pitcrew_core::claim::{Answer, Case, FilePath, Lines, Mode, Outcome, Patience};
use pitcrew_core::limiter::Report;
use pitcrew_core::mailbox::{Draft, Intent};
use pitcrew_core::name::{Name, TaskId};
use pitcrew_core::price::Micros;
use pitcrew_core::refusal::NameKind;
use pitcrew_runtime::clock::{SystemClock, SystemEntropy};
use pitcrew_runtime::desk::{
    Admission, Change, ClaimTurn, ClaimWish, Credentials, Desk, NotDone, Spending,
};
use pitcrew_store::{Project, Store};

/// So long a reader holds a message.
const HOLD_MS: i64 = 60_000;

struct Cy<'a> {
    desk: Desk<'a>,
    store: &'a dyn Store,
    name: &'a Name,
    who: Credentials,
}

impl Cy<'_> {
    /// Waits for a message, and answers who sent it once it is acknowledged.
    fn next(&self) -> String {
        let mut watch = self.store.watch().unwrap();
        loop {
            if let Some(taken) = self.desk.take(self.name, "program", HOLD_MS).unwrap() {
                let id = taken.message.id.as_str();
                self.desk.acknowledge(self.name, &[id]).unwrap();
                return taken.message.from;
            }
            watch.next(Duration::from_secs(20)).unwrap();
        }
    }

    fn say(&self, intent: Intent, body: &str) {
        let draft = Draft {
            intent: Some(intent),
            ..Draft::text(body)
        };
        self.desk.send(&self.who, "ann", &draft).unwrap();
    }

    fn claim(&self, patience: Patience) -> Result<Answer, NotDone> {
        let wish = ClaimWish {
            file: FilePath::canonical("notes.txt", "/", Case::Kept).unwrap(),
            lines: Lines::new(8, 20).unwrap(),
            ttl_ms: 300_000,
            mode: Mode::Replace,
            patience,
            text: None,
        };
        self.desk.claim_lines(&self.who, &wish)
    }

    /// Asks for a call of 30 cents and books it: the stable code of the refusal, if there is one.
    fn think(&self) -> Result<(), &'static str> {
        let cents = Some(Micros::new(300_000));
        let call = Spending {
            member: self.name,
            tokens: 1_000,
            cost: cents,
            task: None,
            model: None,
        };
        let id = match self.desk.acquire(&call) {
            Ok(Admission::Reserved { id, .. }) => id,
            Ok(other) => panic!("{other:?}"),
            Err(NotDone::Refused(refused)) => return Err(refused.code()),
            Err(failed) => panic!("{failed}"),
        };
        let used = Report {
            member: self.name,
            reservation: Some(id),
            tokens: 900,
            cost: cents,
            task: None,
            model: None,
        };
        self.desk.record(&used).unwrap();
        Ok(())
    }
}

/// Lines 8 to 14 of the notes, with the date as the team writes it.
fn write(root: &Path) {
    let path = root.join("notes.txt");
    let text = fs::read_to_string(&path).unwrap();
    let lines = text.lines().enumerate().map(|(at, line)| match at + 1 {
        8..=14 => "cy 2026-11-30\n".to_string(),
        _ => format!("{line}\n"),
    });
    fs::write(&path, lines.collect::<String>()).unwrap();
}

/// What cy does. Answers why it stopped.
pub(crate) fn cy(root: &Path, token: &str) -> &'static str {
    let (team, name) = ("t", "cy");
    let name_of = |text: &str| Name::new(NameKind::Member, text).unwrap();
    let (team, name) = (name_of(team), name_of(name));
    let store = Project::at(root).unwrap().team(&team);
    let me = Cy {
        desk: Desk::new(&team, &store, &SystemClock, &SystemEntropy),
        store: &store,
        name: &name,
        who: Credentials {
            token: Some(token.to_string()),
            claimed: None,
        },
    };
    assert_eq!(me.next(), "ann");
    let rest = TaskId::new("rest").unwrap();
    let task = me.desk.claim(&me.who, &rest, None).unwrap();
    let Err(NotDone::Refused(conflict)) = me.claim(Patience::None) else {
        panic!("ann holds these lines");
    };
    assert_eq!(conflict.code(), "claim_conflict");
    assert!(conflict.to_string().contains("ann"), "{conflict}");

    // In line before it asks, so that nobody comes in between.
    let until = Patience::Until(me.desk.now().plus_millis(120_000));
    let Outcome::Waiting { waiting: place, .. } = me.claim(until).unwrap().outcome else {
        panic!("ann holds these lines");
    };
    me.say(Intent::Request, "May I have lines 8 to 10 of notes.txt?");
    let turn = me.desk.await_claim(place.ticket).unwrap();
    assert!(matches!(turn, ClaimTurn::Held(_)), "{turn:?}");

    me.think().expect("there is money for one call");
    write(root);
    let why = me.think().expect_err("and for no second");
    let file = FilePath::canonical("notes.txt", "/", Case::Kept).unwrap();
    me.desk.release_lines(&name, &file, None).unwrap();
    let back = Change {
        from: "in_progress",
        to: "pending",
        token: task.claim_token.as_deref().unwrap(),
        result: None,
    };
    me.desk.transition(&rest, Some(&name), back).unwrap();
    me.say(
        Intent::Inform,
        "My money is spent. Lines 15 to 20 are left to you.",
    );
    assert_eq!(me.next(), "ann");
    why
}

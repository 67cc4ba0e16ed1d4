//! C3: a dialog opens between the check and the key.
//!
//! The terminal of these tests lets the dialog open at the worst moments: after the last look, before the key.

use pitcrew_core::submit::{Guard, Look, Sent};
use pitcrew_runtime::tmux::{Terminal, TmuxError, submit};

use crate::yard::{Fake, Yard, reason, yard};

const TEXT: &str = "You have 1 new message(s). Read your mailbox: pitcrew inbox --next";

/// When the dialog opens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// After the last look and before the submit key.
    BeforeKey,
    /// After the look that let the paste through, before the paste.
    BeforePaste,
    /// While the paste settles.
    Settling,
}

struct Sly<'a> {
    yard: &'a Yard,
    fake: &'a Fake,
    moment: Moment,
    opened: bool,
}

impl Sly<'_> {
    fn now_if(&mut self, moment: Moment) {
        if self.moment == moment && !self.opened {
            self.opened = true;
            self.fake.order("dialog");
        }
    }

    fn real(
        &self,
    ) -> (
        &pitcrew_runtime::tmux::Tmux,
        &pitcrew_runtime::tmux::PaneRecord,
    ) {
        (&self.yard.tmux, &self.fake.pane)
    }
}

impl Terminal for Sly<'_> {
    fn look(&mut self) -> Result<Look, TmuxError> {
        self.real().look()
    }

    fn paste(&mut self, text: &str, guard: &Guard) -> Result<Sent, TmuxError> {
        self.now_if(Moment::BeforePaste);
        self.real().paste(text, guard)
    }

    fn press(&mut self, key: &str, guard: &Guard) -> Result<Sent, TmuxError> {
        self.now_if(Moment::BeforeKey);
        self.real().press(key, guard)
    }

    fn wait(&mut self, millis: i64) {
        self.now_if(Moment::Settling);
        self.real().wait(millis);
    }

    fn now(&self) -> i64 {
        self.real().now()
    }
}

#[test]
fn c3_a_dialog_that_opens_between_the_check_and_the_key_gets_no_enter_in_200_rounds() {
    let Some(yard) = yard() else { return };
    let yard = &yard;
    std::thread::scope(|scope| {
        for skin in ["claude", "codex", "copilot", "opencode"] {
            scope.spawn(move || {
                let fake = yard.ready(skin, &["--skin", skin]);
                for round in 0..50 {
                    let moment = match round % 5 {
                        3 => Moment::BeforePaste,
                        4 => Moment::Settling,
                        _ => Moment::BeforeKey,
                    };
                    one_round(yard, &fake, moment);
                }
                assert_eq!(fake.count("dialog got Enter"), 0, "{skin}");
                assert_eq!(fake.count("taken"), 0, "{skin}");
                assert_eq!(fake.count("shown dialog"), 50, "{skin}");
            });
        }
    });
}

fn one_round(yard: &Yard, fake: &Fake, moment: Moment) {
    let mut terminal = Sly {
        yard,
        fake,
        moment,
        opened: false,
    };
    let outcome = submit(&mut terminal, fake.profile().plan(TEXT).unwrap());
    let expected = match moment {
        Moment::BeforePaste => "dialog",
        Moment::BeforeKey | Moment::Settling => "dialog_opened_before_enter",
    };
    assert_eq!(reason(&outcome), expected);
    fake.order("close");
    fake.order("erase");
    yard.settled(fake);
}

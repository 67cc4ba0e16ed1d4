//! Keys and pastes: checked and sent in one step of the server, or not sent.

use pitcrew_core::submit::{Guard, Sent};

use super::quote::word;
use super::record::PaneRecord;
use super::{Tmux, TmuxError, guard};
use crate::clock::{Entropy, SystemEntropy};

/// What tmux prints when the condition held, and when it did not.
const YES: &str = "done";
const NO: &str = "held";

impl Tmux {
    /// Presses one key, by tmux's name for it, when the guard still holds.
    ///
    /// # Errors
    /// When tmux cannot be asked; whether the key arrived is not known then.
    pub fn press(&self, pane: &PaneRecord, key: &str, holds: &Guard) -> Result<Sent, TmuxError> {
        let condition = guard::key(pane, holds);
        let send = format!("send-keys -t {} {}", pane.pane_id, word(key));
        self.when(pane, &[], &condition, &send, "", b"")
    }

    /// Pastes one text, bracketed where the program asked for that, when the guard still holds. No argument and no
    /// process listing ever shows the text.
    ///
    /// # Errors
    /// When tmux cannot be asked; whether the text arrived is not known then.
    pub fn paste(&self, pane: &PaneRecord, text: &str, holds: &Guard) -> Result<Sent, TmuxError> {
        let garbled = |_| TmuxError::Garbled {
            what: "a random number",
        };
        let buffer = format!("pitcrew-{}", SystemEntropy.id().map_err(garbled)?);
        let load = ["load-buffer", "-b", &buffer, "-", ";"];
        let condition = guard::key(pane, holds);
        let paste = format!("paste-buffer -p -d -b {buffer} -t {}", pane.pane_id);
        let drop = format!("delete-buffer -b {buffer} ; ");
        let sent = self.when(pane, &load, &condition, &paste, &drop, text.as_bytes());
        if sent.is_err() {
            // It may have been used and deleted, or never have been made: all that counts is that it is gone.
            let _ = self.ask(["delete-buffer", "-b", &buffer], b"");
        }
        sent
    }

    /// Has tmux do `order` on a pane when `condition` holds for it, else `otherwise`.
    pub(super) fn when(
        &self,
        pane: &PaneRecord,
        before: &[&str],
        condition: &str,
        order: &str,
        otherwise: &str,
        input: &[u8],
    ) -> Result<Sent, TmuxError> {
        if !pane.is_sound() {
            return Ok(Sent::Held);
        }
        let order = format!("{order} ; display-message -p {YES}");
        let otherwise = format!("{otherwise}display-message -p {NO}");
        let check = [
            "if-shell",
            "-F",
            "-t",
            &pane.pane_id,
            condition,
            &order,
            &otherwise,
        ];
        let answer = self.ask(before.iter().copied().chain(check), input)?;
        match String::from_utf8_lossy(&answer).trim() {
            YES => Ok(Sent::Sent),
            NO => Ok(Sent::Held),
            _ => Err(TmuxError::Garbled {
                what: "an answer to a key",
            }),
        }
    }
}

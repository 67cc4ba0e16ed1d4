//! The switches of the fake agent, one per way in which a real one is difficult.

use std::path::PathBuf;

use super::skin::{self, Skin};

/// What a submit key does while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhileBusy {
    /// The message is kept until the turn has ended.
    Queue,
    /// The turn is cut and the message is the next one.
    Steer,
    /// Nothing.
    Ignore,
}

/// Which byte submits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubmitKey {
    /// A carriage return, as Enter sends it.
    Return,
    /// A line feed; a carriage return is a new line.
    LineFeed,
    /// None: every one is a new line.
    Never,
}

/// When a question opens by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// With the first frame.
    Start,
    /// After text came in.
    Text,
    /// After a message was submitted.
    Submit,
}

/// All switches.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How it looks.
    pub skin: Skin,
    /// Where everything that happens is written down.
    pub log: Option<PathBuf>,
    /// A named pipe from which orders are read, one a line.
    pub control: Option<PathBuf>,
    /// Milliseconds before the first frame.
    pub start_ms: u64,
    /// Milliseconds that each frame comes late.
    pub draw_ms: u64,
    /// Milliseconds that a turn takes.
    pub turn_ms: u64,
    /// A submit key within so many milliseconds after text is a new line.
    pub burst_ms: u64,
    /// So many submit keys are lost.
    pub swallow: u32,
    /// Milliseconds until a submit key takes effect.
    pub submit_ms: u64,
    /// Which byte submits.
    pub submit: SubmitKey,
    /// Whether it asks for bracketed pastes.
    pub bracketed: bool,
    /// Whether a submitted message stands in the transcript.
    pub echoes: bool,
    /// Whether a submit key empties the composer and does nothing.
    pub drops: bool,
    /// What a submit key does in a turn.
    pub while_busy: WhileBusy,
    /// When a question opens by itself, and after how many milliseconds.
    pub dialog: Option<(Trigger, u64)>,
    /// Whether it asks at first whether the folder is trusted.
    pub trust: bool,
    /// Whether it ends at the first submitted message, and with which status.
    pub crash: Option<i32>,
    /// Rows that stand in the transcript from the beginning.
    pub before: Vec<String>,
    /// A command for `sh`, run at each turn with the message as `$1`; its output is the answer.
    pub run: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            skin: skin::SKINS[0],
            log: None,
            control: None,
            start_ms: 0,
            draw_ms: 0,
            turn_ms: 300,
            burst_ms: 0,
            swallow: 0,
            submit_ms: 0,
            submit: SubmitKey::Return,
            bracketed: true,
            echoes: true,
            drops: false,
            while_busy: WhileBusy::Queue,
            dialog: None,
            trust: false,
            crash: None,
            before: Vec::new(),
            run: None,
        }
    }
}

/// The switches in words.
pub const HELP: &str = "pitcrew-fake: a scripted terminal program that stands in for an agent CLI

  --skin NAME           claude, codex, copilot, gemini, opencode or qwen
  --log FILE            write down every byte that comes in and every state that is shown
  --control PIPE        read orders from a named pipe: dialog, close, busy MS, idle, limit, reset,
                        type TEXT, erase, say TEXT, exit N
  --start-ms N          blank for so long          --draw-ms N    each frame comes so late
  --turn-ms N           a turn takes so long       --submit-ms N  a submit key takes so long
  --burst-ms N          a submit key so soon after text is a new line
  --swallow N           so many submit keys are lost
  --submit KEY          return, line-feed or never
  --while-busy WHAT     queue, steer or ignore
  --dialog WHEN:MS      a question opens so long after: start, text or submit
  --no-bracketed        does not ask for bracketed pastes
  --no-echo             does not show what was submitted
  --drops               a submit key empties the composer and does nothing
  --trust               asks first whether the folder is trusted
  --crash N             ends with this status at the first message
  --before TEXT         a row of the transcript, from the beginning
  --run SCRIPT          what sh runs at each turn, with the message as $1
";

impl Settings {
    /// Reads the command line, the program's name left out.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut settings = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(switch) = arguments.next() {
            if settings.take_flag(&switch) {
                continue;
            }
            let value = arguments.next().ok_or(format!("{switch} needs a value"))?;
            settings.take(&switch, value)?;
        }
        Ok(settings)
    }

    fn take_flag(&mut self, switch: &str) -> bool {
        match switch {
            "--no-bracketed" => self.bracketed = false,
            "--no-echo" => self.echoes = false,
            "--drops" => self.drops = true,
            "--trust" => self.trust = true,
            _ => return false,
        }
        true
    }

    fn take(&mut self, switch: &str, value: String) -> Result<(), String> {
        let number = || {
            value
                .parse()
                .map_err(|_| format!("{switch} {value}: no number"))
        };
        match switch {
            "--skin" => self.skin = skin::of(&value).ok_or(format!("no skin is called {value}"))?,
            "--log" => self.log = Some(value.into()),
            "--control" => self.control = Some(value.into()),
            "--start-ms" => self.start_ms = number()?,
            "--draw-ms" => self.draw_ms = number()?,
            "--turn-ms" => self.turn_ms = number()?,
            "--submit-ms" => self.submit_ms = number()?,
            "--burst-ms" => self.burst_ms = number()?,
            "--swallow" => self.swallow = u32::try_from(number()?).map_err(|e| e.to_string())?,
            "--crash" => self.crash = Some(i32::try_from(number()?).map_err(|e| e.to_string())?),
            "--before" => self.before.push(value),
            "--run" => self.run = Some(value),
            "--submit" => {
                self.submit = match value.as_str() {
                    "return" => SubmitKey::Return,
                    "line-feed" => SubmitKey::LineFeed,
                    "never" => SubmitKey::Never,
                    _ => return Err(format!("--submit {value}")),
                }
            }
            "--while-busy" => {
                self.while_busy = match value.as_str() {
                    "queue" => WhileBusy::Queue,
                    "steer" => WhileBusy::Steer,
                    "ignore" => WhileBusy::Ignore,
                    _ => return Err(format!("--while-busy {value}")),
                }
            }
            "--dialog" => self.dialog = Some(trigger(&value)?),
            _ => return Err(format!("no switch is called {switch}")),
        }
        Ok(())
    }
}

fn trigger(value: &str) -> Result<(Trigger, u64), String> {
    let (when, after) = value.split_once(':').unwrap_or((value, "0"));
    let when = match when {
        "start" => Trigger::Start,
        "text" => Trigger::Text,
        "submit" => Trigger::Submit,
        _ => return Err(format!("--dialog {value}")),
    };
    let after = after
        .parse()
        .map_err(|_| format!("--dialog {value}: no number"))?;
    Ok((when, after))
}

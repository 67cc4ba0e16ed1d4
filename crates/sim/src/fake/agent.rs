//! What the fake agent does with what reaches it. Time is an argument; nothing here knows the terminal.

use super::input::Input;
use super::settings::{Settings, SubmitKey, Trigger, WhileBusy};

/// What is to be done outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Write this down.
    Note(String),
    /// Run the user's script with this message.
    Run(String),
    /// End with this status.
    Exit(i32),
}

/// The whole state.
#[derive(Debug, Clone)]
pub struct Agent {
    settings: Settings,
    /// What stands in the composer.
    pub draft: String,
    /// The transcript.
    pub lines: Vec<String>,
    /// Whether a question is open.
    pub asks: bool,
    /// Whether the question is whether the folder is trusted.
    pub trusts: bool,
    /// Whether the last turn met a limit.
    pub limited: bool,
    /// Whether the program has ended.
    pub ended: bool,
    /// When the turn ends.
    pub busy_until: Option<u64>,
    queue: Vec<String>,
    text_at: Option<u64>,
    pending: Option<u64>,
    dialog_at: Option<u64>,
    swallowed: u32,
    deeds: Vec<Deed>,
}

impl Agent {
    /// A program that has just drawn its first frame.
    #[must_use]
    pub fn new(settings: Settings, now: u64) -> Self {
        let mut agent = Self {
            draft: String::new(),
            lines: settings.before.clone(),
            asks: settings.trust,
            trusts: settings.trust,
            limited: false,
            ended: false,
            busy_until: None,
            queue: Vec::new(),
            text_at: None,
            pending: None,
            dialog_at: None,
            swallowed: 0,
            deeds: Vec::new(),
            settings,
        };
        agent.pull(Trigger::Start, now);
        agent
    }

    /// The switches.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What is to be done outside, in order.
    pub fn deeds(&mut self) -> Vec<Deed> {
        std::mem::take(&mut self.deeds)
    }

    /// When something happens by itself next.
    #[must_use]
    pub fn next_at(&self) -> Option<u64> {
        [self.busy_until, self.pending, self.dialog_at]
            .into_iter()
            .flatten()
            .min()
    }

    /// The word for what it shows.
    #[must_use]
    pub fn shows(&self) -> &'static str {
        match self {
            _ if self.ended => "exited",
            _ if self.asks => "dialog",
            _ if self.busy_until.is_some() => "busy",
            _ if !self.draft.is_empty() => "draft",
            _ if self.limited => "limit",
            _ => "ready",
        }
    }

    fn note(&mut self, text: String) {
        self.deeds.push(Deed::Note(text));
    }

    fn pull(&mut self, trigger: Trigger, now: u64) {
        if let Some((when, after)) = self.settings.dialog
            && when == trigger
            && self.dialog_at.is_none()
            && !self.asks
        {
            self.dialog_at = Some(now + after);
        }
    }

    /// Time has come to `now`.
    pub fn handle_time(&mut self, now: u64) {
        if self.dialog_at.is_some_and(|at| at <= now) {
            self.dialog_at = None;
            self.settings.dialog = None;
            self.asks = true;
        }
        if self.pending.is_some_and(|at| at <= now) {
            self.pending = None;
            self.submit(now);
        }
        if self.busy_until.is_some_and(|at| at <= now) {
            self.busy_until = None;
            self.lines.push("• done".to_owned());
            if !self.queue.is_empty() {
                let text = self.queue.remove(0);
                self.begin(text, now);
            }
        }
    }

    /// A key, text or a paste came in.
    pub fn handle_input(&mut self, input: &Input, now: u64) {
        if self.asks {
            self.answer(input);
            return;
        }
        match input {
            Input::Text(text) | Input::Paste(text) => {
                self.draft.push_str(text);
                self.text_at = Some(now);
                self.pull(Trigger::Text, now);
            }
            Input::Erase => {
                self.draft.pop();
            }
            Input::EraseLine => self.draft.clear(),
            Input::Escape => {}
            Input::Interrupt if self.draft.is_empty() => {
                self.note("interrupted over an empty composer".to_owned());
            }
            Input::Interrupt => {
                self.note("cleared".to_owned());
                self.draft.clear();
            }
            Input::Return | Input::LineFeed => self.handle_line_end(input, now),
        }
    }

    /// A question is open: keys answer it.
    fn answer(&mut self, input: &Input) {
        match input {
            Input::Return => {
                self.note("dialog got Enter".to_owned());
                self.asks = false;
                self.trusts = false;
            }
            Input::Escape | Input::Interrupt => {
                self.note("dialog was refused".to_owned());
                self.asks = false;
            }
            other => self.note(format!("dialog got {other:?}")),
        }
    }

    fn handle_line_end(&mut self, input: &Input, now: u64) {
        let submits = match self.settings.submit {
            SubmitKey::Return => *input == Input::Return,
            SubmitKey::LineFeed => *input == Input::LineFeed,
            SubmitKey::Never => false,
        };
        let in_burst = self
            .text_at
            .is_some_and(|at| now < at + self.settings.burst_ms);
        if !submits || in_burst {
            self.note("new line".to_owned());
            self.draft.push('\n');
        } else if self.swallowed < self.settings.swallow {
            self.swallowed += 1;
            self.note("submit key lost".to_owned());
        } else if self.settings.submit_ms > 0 {
            self.pending = Some(now + self.settings.submit_ms);
        } else {
            self.submit(now);
        }
    }

    fn submit(&mut self, now: u64) {
        if self.draft.trim().is_empty() {
            self.note("submit key over an empty composer".to_owned());
            return;
        }
        let text = std::mem::take(&mut self.draft);
        if self.settings.drops {
            self.note(format!("dropped {text}"));
            return;
        }
        match (self.busy_until, self.settings.while_busy) {
            (None, _) => self.begin(text, now),
            (Some(_), WhileBusy::Queue) => {
                self.note(format!("queued {text}"));
                self.show(&text);
                self.queue.push(text);
            }
            (Some(_), WhileBusy::Steer) => {
                self.note("turn was cut".to_owned());
                self.begin(text, now);
            }
            (Some(_), WhileBusy::Ignore) => self.draft = text,
        }
    }

    fn show(&mut self, text: &str) {
        if self.settings.echoes {
            let mut before = self.settings.skin.echo;
            for line in text.split('\n') {
                self.lines.push(format!("{before}{line}"));
                before = "  ";
            }
        }
    }

    fn begin(&mut self, text: String, now: u64) {
        self.note(format!("taken {text}"));
        if !self.lines.iter().any(|line| line.ends_with(&text)) || self.busy_until.is_none() {
            self.show(&text);
        }
        self.limited = false;
        self.pull(Trigger::Submit, now);
        if let Some(status) = self.settings.crash {
            self.end(status);
            return;
        }
        if self.settings.turn_ms > 0 {
            self.busy_until = Some(now + self.settings.turn_ms);
        }
        if self.settings.run.is_some() {
            self.deeds.push(Deed::Run(text));
        }
    }

    /// The script has answered.
    pub fn handle_answer(&mut self, text: &str) {
        self.lines
            .extend(text.lines().map(|line| format!("• {line}")));
    }

    fn end(&mut self, status: i32) {
        self.ended = true;
        self.deeds.push(Deed::Exit(status));
    }

    /// An order of a test.
    pub fn handle_order(&mut self, order: &str, now: u64) {
        let (word, rest) = order.split_once(' ').unwrap_or((order, ""));
        let number = rest.trim().parse::<u64>().ok();
        match word {
            "dialog" => self.asks = true,
            "close" => self.asks = false,
            "busy" => self.busy_until = Some(now + number.unwrap_or(3_600_000)),
            "idle" => self.busy_until = None,
            "limit" => self.limited = true,
            "reset" => self.limited = false,
            "type" => self.draft.push_str(rest),
            "erase" => self.draft.clear(),
            "say" => self.lines.push(rest.to_owned()),
            "exit" => self.end(number.and_then(|n| i32::try_from(n).ok()).unwrap_or(0)),
            _ => self.note(format!("no order is called {word}")),
        }
    }
}

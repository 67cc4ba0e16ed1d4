//! How each profile's program looks: rows around the composer, words for each state, titles.
//!
//! The skins follow the captured screens as far as a signature looks at them; they are no copies.

/// Where a program says that a limit was reached.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// In a row above the composer.
    Above(&'static str),
    /// In place of the last row.
    Below(&'static str),
}

/// The look of one program.
#[derive(Debug, Clone, Copy)]
pub struct Skin {
    /// The profile whose signature it is made for.
    pub profile: &'static str,
    /// What stands before the composer's first row, and before its further rows.
    pub prompt: [&'static str; 2],
    /// The rows above the composer, from the top; `─` alone fills the width.
    pub above: &'static [&'static str],
    /// The rows below it.
    pub below: &'static [&'static str],
    /// The row below it while a turn runs, in place of the last of `below`.
    pub busy_below: Option<&'static str>,
    /// A row above the composer while a turn runs.
    pub busy_above: Option<&'static str>,
    /// What stands before a submitted message in the transcript.
    pub echo: &'static str,
    /// The titles: at rest, in a turn, with a question.
    pub titles: [&'static str; 3],
    /// A question.
    pub dialog: &'static [&'static str],
    /// A limit.
    pub limit: Limit,
    /// What is left when it ends.
    pub farewell: &'static str,
    /// Whether it draws on the alternate screen.
    pub alternate: bool,
}

const CLAUDE: Skin = Skin {
    profile: "claude",
    prompt: ["❯ ", "  "],
    above: &["─"],
    below: &["─", "  ? for shortcuts"],
    busy_below: Some("  manual mode on · esc to interrupt"),
    busy_above: Some("✻ Working… (3s)"),
    echo: "❯ ",
    titles: ["✳ fake", "⠐ fake", "✳ fake"],
    dialog: &[
        "Do you want to proceed?",
        "❯ 1. Yes",
        "  2. No, and tell it what to do",
        "",
        "Esc to cancel · Tab to amend",
    ],
    limit: Limit::Above("⎿ API Error: Request rejected (429) usage limit"),
    farewell: "Resume this session with: claude --resume 1",
    alternate: false,
};

const CODEX: Skin = Skin {
    profile: "codex",
    prompt: ["› ", "  "],
    above: &[""],
    below: &["", "  ? for shortcuts · fake-folder"],
    busy_below: None,
    busy_above: Some("• Working (3s • esc to interrupt)"),
    echo: "› ",
    titles: [
        "fake | fake-folder",
        "⠧ fake | fake-folder",
        "[ ! ] Action Required | fake-folder",
    ],
    dialog: &[
        "Would you like to run this command?",
        "› 1. Yes, proceed",
        "  2. No",
        "Press enter to confirm or esc to cancel",
    ],
    limit: Limit::Above("■ You've hit your usage limit."),
    farewell: "To continue this session, run codex resume 1",
    alternate: false,
};

const COPILOT: Skin = Skin {
    profile: "copilot",
    prompt: ["❯ ", "  "],
    above: &["─"],
    below: &["─", " / commands · ? help"],
    busy_below: Some(" ◎ Working"),
    busy_above: None,
    echo: "❯ ",
    titles: ["fake", "fake", "fake"],
    dialog: &[
        "│ Run this command?",
        "│ ❯ 1. Yes",
        "│   2. No",
        "│ enter to select · esc to cancel",
    ],
    limit: Limit::Above("✗ rate limit reached"),
    farewell: "copilot --resume=1",
    alternate: true,
};

const GEMINI: Skin = Skin {
    profile: "gemini",
    prompt: [" > ", "   "],
    above: &["? for shortcuts", "▄"],
    below: &["▀", " ~/fake   no sandbox"],
    busy_below: None,
    busy_above: Some(" ⠏ Thinking (esc to cancel, 3s)"),
    echo: " > ",
    titles: [
        "◇  Ready (fake)",
        "✦  Working… (fake)",
        "✋  Action Required (fake)",
    ],
    dialog: &[
        "│ Allow execution of: touch?",
        "│ ● 1. Allow once",
        "│   2. No (esc)",
    ],
    limit: Limit::Above("✕ [API Error: quota exceeded 429]"),
    farewell: "Agent powering down. gemini --resume 1",
    alternate: false,
};

const OPENCODE: Skin = Skin {
    profile: "opencode",
    prompt: ["┃  ", "┃  "],
    above: &["", "┃"],
    below: &[
        "┃",
        "┃  Build · fake",
        "╹▀▀▀",
        "  ~/fake    ctrl+p commands",
    ],
    busy_below: Some("  ⬝⬝■  esc interrupt    ctrl+p commands"),
    busy_above: None,
    echo: "┃  ",
    titles: ["OpenCode", "OpenCode", "OpenCode"],
    dialog: &[
        "△ Permission required",
        "  Allow once   Allow always   Reject",
        "⇆ select  enter confirm",
    ],
    limit: Limit::Below("  rate limit reached, retrying in 3s"),
    farewell: "Continue  opencode -s ses_1",
    alternate: true,
};

const QWEN: Skin = Skin {
    profile: "qwen",
    prompt: ["> ", "  "],
    above: &["─"],
    below: &["─", "  fake (shift + tab to cycle)"],
    busy_below: None,
    busy_above: Some("⠏ Thinking (3s · esc to cancel)"),
    echo: "> ",
    titles: ["Qwen - fake", "◐ Qwen - fake", "✳ Qwen - fake"],
    dialog: &[
        "Allow execution of: touch?",
        "› 1. Yes, allow once",
        "  2. No",
        "Waiting for user confirmation",
    ],
    limit: Limit::Above("✕ quota exceeded"),
    farewell: "To continue this session, run qwen --resume 1",
    alternate: false,
};

/// Every skin.
pub const SKINS: [Skin; 6] = [CLAUDE, CODEX, COPILOT, GEMINI, OPENCODE, QWEN];

/// The skin for a profile.
#[must_use]
pub fn of(profile: &str) -> Option<Skin> {
    SKINS.into_iter().find(|skin| skin.profile == profile)
}

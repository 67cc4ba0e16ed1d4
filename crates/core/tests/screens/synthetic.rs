//! Screens written by hand: states, sizes and accidents that were not captured, in words of our own.

use super::*;

/// A screen of `rows` with the last line `told`. A row that says `CURSOR` where the cursor stands is marked by `told`.
fn screen(rows: &[&str], told: &str) -> Facts {
    Facts::from_capture(&format!("{}\n\n#### {told}", rows.join("\n")))
}

#[track_caller]
fn check(profile: &str, facts: &Facts, expected: State) {
    let (state, why) = state_of(profile, facts);
    assert_eq!(state, expected, "{profile}: {why}\n{}", facts.to_capture());
}

const RULE: &str = "────────────────────────────────────────────────────────────";

/// Claude Code with `above` over its composer, which holds `draft`, and `footer` below.
fn claude(above: &[&str], draft: &str, footer: &str, x: u16) -> Facts {
    let prompt = format!("❯ {draft}");
    let mut rows: Vec<&str> = above.to_vec();
    rows.extend([RULE, &prompt, RULE, footer]);
    let y = above.len() + 1;
    screen(
        &rows,
        &format!("cur={x},{y} curvis=0 alt=1 mouse=1 mode=0 cmd=bash title=✳ Claude Code"),
    )
}

const IDLE: &str = "  ⏸ manual mode on · ? for shortcuts";

/// Codex in a small window.
fn codex(above: &[&str], draft: &str, footer: &str, x: u16, title: &str) -> Facts {
    let prompt = format!("› {draft}");
    let mut rows: Vec<&str> = above.to_vec();
    rows.extend(["", &prompt, "", "  a-model default · ~/src/thing", footer]);
    let y = above.len() + 1;
    screen(
        &rows,
        &format!("cur={x},{y} curvis=1 alt=1 mouse=0 mode=0 cmd=bash title={title}"),
    )
}

const PLACEHOLDER: &str = "Ask Codex to do anything";
const HINT: &str = "  ? for shortcuts";

#[test]
fn an_idle_program_is_ready() {
    check(
        "claude",
        &claude(&["● All done.", ""], "", IDLE, 2),
        State::Ready,
    );
    check(
        "codex",
        &codex(&["• All done."], PLACEHOLDER, HINT, 2, "thing"),
        State::Ready,
    );
    let planning = "  ⏸ plan mode on (shift+tab to cycle)";
    check(
        "claude",
        &claude(&["● A plan.", ""], "", planning, 2),
        State::Ready,
    );
}

#[test]
fn c8_old_words_of_work_in_the_transcript_do_not_make_it_busy() {
    let above = [
        "❯ what does esc to interrupt do?",
        "",
        "● While I work the footer says \"esc to interrupt\"; (esc to cancel, 3s) is another",
        "  program's. Working is not a state of mine.",
        "",
        "✻ Pondered for 9s · done 4:01 PM",
        "",
    ];
    check("claude", &claude(&above, "", IDLE, 2), State::Ready);
    let above = [
        "• The row says: Working (2s, esc to cancel)",
        "",
        "  Worked for 3s",
    ];
    check(
        "codex",
        &codex(&above, PLACEHOLDER, HINT, 2, "thing"),
        State::Ready,
    );
}

#[test]
fn a_running_turn_is_busy_although_the_composer_is_empty() {
    let busy = "  ⏸ manual mode on · esc to interrupt";
    check(
        "claude",
        &claude(&["● Half an answer", ""], "", busy, 2),
        State::Busy,
    );
    let spins = ["✶ Wondering… (12s · ↓ 40 tokens)", ""];
    check(
        "claude",
        &claude(&spins, "", "  ⏸ manual mode on", 2),
        State::Busy,
    );
    check(
        "codex",
        &codex(&["• Half an answer"], PLACEHOLDER, HINT, 2, "⠧ thing"),
        State::Busy,
    );
    let silent = ["◦ Working (1m 02s • esc to interrupt)", ""];
    check(
        "codex",
        &codex(&silent, PLACEHOLDER, HINT, 2, "thing"),
        State::Busy,
    );
}

#[test]
fn c8_a_spinner_of_another_version_is_not_idle() {
    let renamed = "  ⏸ manual mode on · press q to stop";
    check(
        "claude",
        &claude(&["~ Chewing", ""], "", renamed, 2),
        State::Unknown,
    );
    // A title that is not the program's own hides whether a turn runs.
    check(
        "codex",
        &codex(&["• Text"], PLACEHOLDER, HINT, 2, "some-host"),
        State::Unknown,
    );
    check(
        "codex",
        &codex(&["• Text"], PLACEHOLDER, HINT, 2, ""),
        State::Unknown,
    );
}

#[test]
fn busy_words_in_a_draft_are_a_draft() {
    let draft = "please explain (esc to cancel, 3s) and esc to interrupt";
    check(
        "claude",
        &claude(&["● Hello.", ""], draft, "  ⏸ manual mode on", 57),
        State::Draft,
    );
    check(
        "codex",
        &codex(&["• Hello."], draft, "", 57, "thing"),
        State::Draft,
    );
}

#[test]
fn c4_a_draft_is_a_draft_wherever_the_cursor_stands() {
    check(
        "claude",
        &claude(&[""], "half a thou", "  ⏸ manual mode on", 13),
        State::Draft,
    );
    check(
        "claude",
        &claude(&[""], "half a thou", "  ⏸ manual mode on", 2),
        State::Draft,
    );
    check(
        "claude",
        &claude(&[""], "   ", "  ⏸ manual mode on", 5),
        State::Draft,
    );
    // Lines below an empty first line.
    let rows = [RULE, "❯ ", "  second line", RULE, IDLE];
    let told = "cur=2,1 curvis=0 alt=1 mouse=1 mode=0 cmd=bash title=✳ Claude Code";
    check("claude", &screen(&rows, told), State::Draft);
    // A draft that is higher than the composer.
    let rows = [
        "─── ↑ 3 more ─────────────",
        "  the end of it",
        RULE,
        "  ⏸ manual mode on",
    ];
    let told = "cur=15,1 curvis=0 alt=1 mouse=1 mode=0 cmd=bash title=✳ Claude Code";
    check("claude", &screen(&rows, told), State::Draft);
}

#[test]
fn text_like_a_placeholder_is_not_taken_for_one_without_its_proof() {
    check(
        "codex",
        &codex(&["• Hello."], PLACEHOLDER, "", 2, "thing"),
        State::Unknown,
    );
    let typed = claude(&[""], "Try \"that again\" said he", "  ⏸ manual mode on", 2);
    check("claude", &typed, State::Unknown);
    check(
        "claude",
        &claude(&[""], "Try \"fix the tests\"", IDLE, 2),
        State::Ready,
    );
}

#[test]
fn c3_a_dialog_wins_over_a_composer_below_it() {
    let asks = [
        "Do you want to make this edit to lib.rs?",
        "❯ 1. Yes",
        "  2. No, and tell it what to do differently",
        "",
        "Enter to confirm · Esc to cancel",
    ];
    check("claude", &claude(&asks, "", IDLE, 2), State::Dialog);
    let asks = [
        "› 1. Go on (y)",
        "  2. Stop (esc)",
        "",
        "  Press enter to confirm or esc to cancel",
    ];
    check(
        "codex",
        &codex(&asks, PLACEHOLDER, HINT, 2, "thing"),
        State::Dialog,
    );
    check(
        "codex",
        &codex(&asks, PLACEHOLDER, HINT, 2, "thing"),
        State::Dialog,
    );
    // A message of the transcript that happens to begin with a number is no dialog.
    let message = ["› 1. Go on", "", "• Gone on."];
    check(
        "codex",
        &codex(&message, PLACEHOLDER, HINT, 2, "thing"),
        State::Ready,
    );
}

#[test]
fn c3_dialogs_of_every_kind() {
    let trust = [
        " Is this a folder that you trust?",
        " ❯ No, leave",
        "   Yes, I trust this folder",
        "",
        " Enter to confirm · Esc to cancel",
    ];
    check(
        "claude",
        &screen(
            &trust,
            "cur=1,1 curvis=0 alt=0 mouse=0 mode=0 cmd=bash title=vm",
        ),
        State::Dialog,
    );
    let picker = [
        "  Select a model",
        "› 1. small   fast",
        "  2. large   slow",
        "↓",
        "  enter select · esc back",
    ];
    let told = "cur=90,4 curvis=0 alt=1 mouse=0 mode=0 cmd=bash title=thing";
    check("codex", &screen(&picker, told), State::Dialog);
    let wrapped = [
        " › 1. Yes",
        "   2. Yes, and do not ask again for commands that start with",
        "      this",
        "   3. No",
        "   Press enter",
        "   to confirm or esc to cancel",
    ];
    check("codex", &screen(&wrapped, told), State::Dialog);
    let boxed = [
        "╭──────────────────────────────╮",
        "│ Allow execution of [Shell]?  │",
        "│ ● 1. Allow once              │",
        "│   2. No, suggest changes     │",
        "╰──────────────────────────────╯",
    ];
    let told = "cur=0,4 curvis=0 alt=0 mouse=0 mode=0 cmd=bash title=◇  Ready (thing)";
    check("gemini", &screen(&boxed, told), State::Dialog);
    let permission = [
        "  ┃  △ Permission required",
        "  ┃    # Shell command",
        "  ┃   Allow once   Allow always   Reject    ⇆ select  enter con",
    ];
    let told = "cur=60,2 curvis=0 alt=1 mouse=1 mode=0 cmd=bash title=OC | thing";
    check("opencode", &screen(&permission, told), State::Dialog);
    let floats = [
        "      Select model                    esc",
        "      se",
        "      ● a model",
        "  ┃",
        "  ┃",
        "  ┃  Build · a model",
        "  ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀",
        "   ~/src/thing                 ctrl+p commands",
    ];
    let told = "cur=8,1 curvis=1 alt=1 mouse=1 mode=0 cmd=bash title=OC | thing";
    check("opencode", &screen(&floats, told), State::Dialog);
}

#[test]
fn a_slash_command_that_is_being_typed_is_a_dialog() {
    let menu = [
        "  ❯ /model      choose a model",
        "    /memory     edit notes",
    ];
    check(
        "claude",
        &claude(&menu, "/m", "  ⏸ manual mode on", 4),
        State::Dialog,
    );
    check(
        "claude",
        &claude(&[""], "/", "  ⏸ manual mode on", 3),
        State::Dialog,
    );
    // A path is no command.
    check(
        "claude",
        &claude(&[""], "/etc/hosts is odd", "  ⏸ manual mode on", 19),
        State::Draft,
    );
}

#[test]
fn c3_a_usage_limit_is_a_limit() {
    let asks = [
        "❯ go on",
        "  ⎿  You've hit your session limit · resets 6pm",
        "",
    ];
    check("claude", &claude(&asks, "", IDLE, 2), State::Limit);
    let cut = [
        "✻ 429 Rate limit reached: too many req… · retrying in 9s · attempt 2/10",
        "",
    ];
    check(
        "claude",
        &claude(&cut, "", "  ⏸ manual mode on · esc to interrupt", 2),
        State::Limit,
    );
    let banner = ["■ You’ve hit your usage limit. Try again at 9:32 PM.", ""];
    check(
        "codex",
        &codex(&banner, PLACEHOLDER, HINT, 2, "thing"),
        State::Limit,
    );
    // Long past: other turns have followed.
    let past = [
        "  ⎿  You've hit your session limit · resets 6pm",
        "",
        "❯ go on",
        "",
        "● Gone on.",
        "",
        "✻ Pondered for 2s · done 7:01 PM",
        "",
    ];
    check("claude", &claude(&past, "", IDLE, 2), State::Ready);
}

#[test]
fn a_blank_or_starting_screen_is_unknown() {
    let rows = [""; 24];
    for profile in PROFILES {
        let told = "cur=0,0 curvis=1 alt=0 mouse=0 mode=0 cmd=bash title=vm";
        check(profile, &screen(&rows, told), State::Unknown);
    }
    let half_drawn = claude(&[""], "", "", 2);
    check("claude", &half_drawn, State::Unknown);
}

#[test]
fn copy_mode_is_unknown_whatever_is_shown() {
    let mut facts = claude(&["● All done.", ""], "", IDLE, 2);
    facts.in_mode = Some(true);
    check("claude", &facts, State::Unknown);
}

#[test]
fn c4_a_shell_after_the_program_has_ended_is_exited() {
    let rows = [
        "Resume this session with:",
        "claude --resume 1b2c",
        "user@host:~/src/thing$",
    ];
    let told = "cur=23,2 curvis=1 alt=0 mouse=0 mode=0 cmd=bash title=user@host";
    for profile in PROFILES.iter().filter(|profile| **profile != "bash") {
        check(profile, &screen(&rows, told), State::Exited);
        check(
            profile,
            &screen(&rows[2..], "cur=23,0 curvis=1 alt=0 cmd=bash title=x"),
            State::Exited,
        );
    }
    let dead = [
        "some last words",
        "Pane is dead (status 1, Mon Nov 30 20:00:00 2026)",
    ];
    check(
        "codex",
        &screen(&dead, "cur=0,1 curvis=1 alt=0 cmd= title=x"),
        State::Exited,
    );
    // A shell's own prompt that looks like a composer is none.
    let starship = ["~/src/thing", "❯"];
    let told = "cur=2,1 curvis=1 alt=0 mouse=0 mode=0 cmd=zsh title=x";
    check("claude", &screen(&starship, told), State::Unknown);
    check("copilot", &screen(&starship, told), State::Unknown);
}

#[test]
fn a_shell_is_ready_at_an_empty_prompt_only() {
    let at = |row: &str, x: u16, command: &str| {
        screen(
            &["$ true", row],
            &format!("cur={x},1 curvis=1 alt=0 mouse=0 mode=0 cmd={command} title=x"),
        )
    };
    for (row, x, command, expected) in [
        ("user@host:~/src$", 17, "bash", State::Ready),
        ("bash-5.2#", 10, "bash", State::Ready),
        ("(venv) [user@host thing]$", 26, "bash", State::Ready),
        ("$", 2, "sh", State::Ready),
        ("user@host:~$ ls -l", 18, "bash", State::Draft),
        ("user@host:~$ ls -l", 13, "bash", State::Draft),
        ("user@host:~$ echo $", 20, "bash", State::Draft),
        (">", 2, "bash", State::Draft),
        ("user@host:~$", 13, "sleep", State::Busy),
        ("", 0, "vim", State::Busy),
        ("Overwrite? [y/N]", 17, "bash", State::Dialog),
        ("[sudo] password for user:", 26, "sudo", State::Dialog),
        ("how much is it in $", 20, "bash", State::Unknown),
        ("still printing", 14, "bash", State::Unknown),
    ] {
        check("bash", &at(row, x, command), expected);
    }
    let above = screen(
        &["user@host:~$", "old text below the cursor"],
        "cur=13,0 curvis=1 alt=0 cmd=bash title=x",
    );
    check("bash", &above, State::Unknown);
}

#[test]
fn a_composer_is_found_by_the_cursor_not_by_rows_that_look_like_it() {
    // The transcript shows what was sent in the same way as the composer shows a draft.
    let rows = ["❯ ", "❯ say hello", "", "● hello", RULE, "❯ ", RULE, IDLE];
    let at = |x: u16, y: u16| {
        let told =
            format!("cur={x},{y} curvis=0 alt=1 mouse=1 mode=0 cmd=bash title=✳ Claude Code");
        screen(&rows, &told)
    };
    check("claude", &at(2, 5), State::Ready);
    for (x, y) in [
        (2, 0),
        (2, 1),
        (2, 3),
        (0, 5),
        (1, 5),
        (2, 4),
        (2, 6),
        (2, 7),
        (2, 40),
    ] {
        let (state, _) = state_of("claude", &at(x, y));
        assert_ne!(state, State::Ready, "{x},{y}");
    }
}

#[test]
fn a_hidden_cursor_is_no_composer_where_dialogs_hide_it() {
    let mut facts = codex(&["• All done."], PLACEHOLDER, HINT, 2, "thing");
    facts.cursor_visible = Some(false);
    check("codex", &facts, State::Unknown);
}

#[test]
fn colours_tell_a_suggestion_from_a_draft() {
    let rows = [
        "────────",
        "> what comes next",
        "────────",
        "  ⏸ Ask permissions (shift + tab to cycle)",
    ];
    let told = "cur=2,1 curvis=1 alt=1 mouse=1 mode=0 cmd=bash title=Qwen - thing";
    let plain = screen(&rows, told);
    check("qwen", &plain, State::Unknown);
    let coloured = |colour: &str| {
        let prompt = format!("\x1b[35m> \x1b[{colour}mwhat comes next\x1b[0m");
        plain
            .clone()
            .coloured(&[rows[0], &prompt, rows[2], rows[3]].join("\n"))
    };
    check("qwen", &coloured("38;2;108;112;134"), State::Ready);
    check("qwen", &coloured("39"), State::Draft);
}

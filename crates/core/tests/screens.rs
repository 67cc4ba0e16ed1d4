//! The profiles' signatures against screens: captured from real programs, written by hand, and damaged at random.
//!
//! Captured screens lie beside the repository in `shared/cases/screens`; without them their tests print a notice and
//! pass, unless the variable `PITCREW_REQUIRE` names `shared`.
#![allow(
    clippy::expect_used,
    reason = "a profile or a screen that cannot be read fails its test"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use pitcrew_core::screen::{Composer, Facts, Signature, State, judge};
use pitcrew_core::submit::{Keys, WhileBusy};
use proptest::prelude::*;
use serde::Deserialize;

#[path = "screens/damaged.rs"]
mod damaged;
#[path = "screens/synthetic.rs"]
mod synthetic;

const PROFILES: [&str; 7] = [
    "bash", "claude", "codex", "copilot", "gemini", "opencode", "qwen",
];

/// The pane half of a profile, as far as the core knows it.
#[derive(Deserialize)]
struct PaneHalf {
    profile: String,
    version: u32,
    measured: Vec<String>,
    screen: Signature,
    submit: Keys,
    pane: toml::Table,
}

fn crates() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("the crate lies in a folder").into()
}

fn half(profile: &str) -> PaneHalf {
    let path = crates().join(format!("runtime/profiles/panes/{profile}.toml"));
    let text = fs::read_to_string(path).expect("a profile");
    toml::from_str(&text).unwrap_or_else(|error| panic!("{profile}: {error}"))
}

fn signature(profile: &str) -> &'static Signature {
    static READ: LazyLock<BTreeMap<&str, Signature>> = LazyLock::new(|| {
        let read = PROFILES
            .iter()
            .map(|profile| (*profile, half(profile).screen));
        read.collect()
    });
    READ.get(profile).expect("a profile with this name")
}

fn state_of(profile: &str, facts: &Facts) -> (State, String) {
    let reading = judge(facts, signature(profile));
    (reading.state, reading.why)
}

/// One captured screen.
struct Captured {
    profile: String,
    /// `<program>/<size>-<state>`.
    name: String,
    facts: Facts,
    /// The same screen with its colours.
    coloured: Option<Facts>,
}

impl Captured {
    /// What the file name says that the screen shows, without the size.
    fn shows(&self) -> &str {
        self.name.split_once('-').map_or("", |(_, shows)| shows)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test asks whether it may be skipped"
)]
fn is_required(what: &str) -> bool {
    let required = std::env::var("PITCREW_REQUIRE").unwrap_or_default();
    required.split(',').any(|word| word.trim() == what)
}

#[expect(clippy::print_stdout, reason = "a test that skips says so")]
fn notice(text: &str) {
    println!("{text}");
}

/// Every captured screen; none when there is no folder with them.
fn captured() -> Vec<Captured> {
    let crates = crates();
    let folders = crates.ancestors().skip(1).take(4);
    let folder = folders
        .map(|folder| folder.join("shared/cases/screens"))
        .find(|folder| folder.is_dir());
    let Some(folder) = folder else {
        assert!(!is_required("shared"), "captured screens are required");
        notice("skipped: no captured screens in shared/cases/screens");
        return Vec::new();
    };
    let mut found = Vec::new();
    for program in fs::read_dir(folder).expect("a folder").flatten() {
        let program = program.path();
        let files = fs::read_dir(&program).into_iter().flatten().flatten();
        for path in files.map(|file| file.path()) {
            if path.extension().is_some_and(|end| end == "txt") {
                found.push(read_captured(&program, &path));
            }
        }
    }
    found.sort_by(|a, b| (&a.profile, &a.name).cmp(&(&b.profile, &b.name)));
    found
}

fn read_captured(program: &Path, path: &Path) -> Captured {
    let text = |path: &Path| Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned());
    let stem = |path: &Path| {
        let stem = path.file_name().unwrap_or_default().to_string_lossy();
        stem.trim_end_matches(".txt").to_owned()
    };
    let facts = Facts::from_capture(&text(path).expect("a captured screen"));
    let program = stem(program);
    let profile = program.split('-').next().unwrap_or_default().to_owned();
    Captured {
        name: format!("{profile}/{}", stem(path)),
        profile,
        coloured: text(&path.with_extension("ansi")).map(|text| facts.clone().coloured(&text)),
        facts,
    }
}

/// What a captured screen may be judged to be. The first is what it is; another one is as harmless and as true.
fn allowed(screen: &Captured) -> &'static [State] {
    match (screen.profile.as_str(), screen.shows()) {
        ("codex", "first-start" | "err429") | (_, "ready-empty") => &[State::Ready],
        ("claude", "first-start") | (_, "exited") => &[State::Exited],
        ("gemini", "first-start") | (_, "permission" | "slash-menu" | "model-picker") => {
            &[State::Dialog]
        }
        ("copilot" | "opencode" | "qwen", "first-start") => &[State::Unknown, State::Busy],
        ("claude" | "opencode", "err429") => &[State::Limit],
        // Nothing on these screens tells a retry from a turn.
        (_, "err429" | "busy" | "busy-thinking" | "busy-draft" | "busy-queued") => &[State::Busy],
        (_, "draft") => &[State::Draft],
        _ => &[],
    }
}

#[test]
fn every_profile_has_a_pane_half() {
    for profile in PROFILES {
        let half = half(profile);
        assert_eq!(half.profile, profile);
        assert!(half.version >= 1, "{profile}");
        assert!(!half.measured.is_empty(), "{profile}");
        assert!(
            half.submit.burst_ms >= 120 || half.submit.is_shell,
            "{profile}"
        );
        assert_eq!(half.submit.while_busy, WhileBusy::Wait, "{profile}");
        let command = half.pane.get("command").and_then(toml::Value::as_array);
        assert!(command.is_some_and(|words| !words.is_empty()), "{profile}");
        let screen = &half.screen;
        assert!(
            screen.shell.is_some() || !screen.ready.is_empty(),
            "{profile}"
        );
    }
}

#[test]
fn an_unknown_key_in_a_signature_is_an_error() {
    let read = |text: &str| toml::from_str::<Signature>(text);
    assert!(read("[[busy]]\nname = \"x\"\nanny = [\"y\"]").is_err());
    assert!(read("bussy = []").is_err());
    assert!(read("[[busy]]\nname = \"x\"\nany = [\"y\"]").is_ok());
}

#[test]
fn every_captured_screen_is_judged_right() {
    let mut wrong = Vec::new();
    let mut table: BTreeMap<String, usize> = BTreeMap::new();
    for screen in captured() {
        let looks = [
            ("plain", Some(&screen.facts)),
            ("coloured", screen.coloured.as_ref()),
        ];
        for (look, facts) in looks {
            let Some(facts) = facts else { continue };
            let (state, why) = state_of(&screen.profile, facts);
            let allowed = allowed(&screen);
            *table
                .entry(format!("{} {}", screen.profile, state.word()))
                .or_default() += 1;
            if !allowed.is_empty() && !allowed.contains(&state) {
                wrong.push(format!(
                    "{} ({look}): {} because {why}",
                    screen.name,
                    state.word()
                ));
            }
        }
    }
    println!("{table:#?}");
    assert!(wrong.is_empty(), "wrong:\n  {}", wrong.join("\n  "));
}

#[test]
fn c8_no_signature_calls_another_programs_screen_ready() {
    for screen in captured() {
        for profile in PROFILES
            .iter()
            .filter(|profile| **profile != screen.profile)
        {
            let (state, why) = state_of(profile, &screen.facts);
            assert_ne!(state, State::Ready, "{} by {profile}: {why}", screen.name);
        }
    }
}

#[test]
fn a_ready_screen_without_one_of_its_facts_is_not_ready() {
    for screen in captured() {
        if state_of(&screen.profile, &screen.facts).0 != State::Ready {
            continue;
        }
        let mut without = [
            ("the cursor", screen.facts.clone()),
            ("the rows", screen.facts.clone()),
            ("the last row but one", screen.facts.clone()),
        ];
        without[0].1.cursor = None;
        without[1].1.rows.clear();
        without[2].1.in_mode = Some(true);
        for (what, facts) in without {
            let (state, why) = state_of(&screen.profile, &facts);
            assert_ne!(state, State::Ready, "{} without {what}: {why}", screen.name);
        }
    }
}

#[test]
fn a_draft_is_read_whole() {
    for screen in captured().iter().filter(|screen| screen.shows() == "draft") {
        let reading = judge(&screen.facts, signature(&screen.profile));
        let expected = Composer::Draft("human draft text".to_owned());
        assert_eq!(reading.composer, expected, "{}", screen.name);
    }
}

proptest! {
    #[test]
    fn garbage_is_never_ready(
        rows in prop::collection::vec("[ -~│─❯›>┃●…·]{0,60}", 0..30),
        x in 0u16..60,
        y in 0u16..30,
        title in "[ -~⠋◇✦]{0,20}",
    ) {
        let text = format!("{}\n\n#### cur={x},{y} curvis=1 alt=1 mouse=0 mode=0 cmd=bash title={title}", rows.join("\n"));
        let facts = Facts::from_capture(&text);
        for profile in PROFILES.iter().filter(|profile| **profile != "bash") {
            let (state, why) = state_of(profile, &facts);
            prop_assert_ne!(state, State::Ready, "{}: {}\n{}", profile, why, text);
        }
    }

    #[test]
    fn any_text_is_judged(text in any::<String>()) {
        let facts = Facts::from_capture(&text);
        for profile in PROFILES {
            let _ = judge(&facts, signature(profile));
        }
    }
}

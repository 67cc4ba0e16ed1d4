//! One real agent CLI as the member of a team in a pane: a project, a home and a tmux server of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything may take to be seen.
const PATIENCE: Duration = Duration::from_secs(60);

/// The key of one provider; some programs want to have seen it before.
const KEY: &str = "sk-mock-0123456789abcdefghij";

/// The place.
pub(crate) struct Berth {
    pub(crate) cli: &'static str,
    folder: TempDir,
    env: Vec<(&'static str, String)>,
}

/// What one call answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    #[allow(dead_code, reason = "a failing test shows it")]
    pub(crate) stderr: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|why| panic!("{why}: {self:#?}"))
    }
}

impl Berth {
    /// A place where `cli` finds the model at `model`, trusts the project and asks before it runs what is no command of
    /// the team's.
    pub(crate) fn new(cli: &'static str, model: &str, search_path: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut berth = Self {
            cli,
            folder,
            env: vec![
                ("PATH", search_path.to_string()),
                ("LANG", "C.UTF-8".to_string()),
                ("TERM", "xterm-256color".to_string()),
                ("SHELL", "/bin/sh".to_string()),
            ],
        };
        for below in ["p/.git", "p/.pitcrew/profiles/panes", "home", "tmp", "tmux"] {
            fs::create_dir_all(berth.path(below)).expect("a folder");
        }
        berth.env.push(("HOME", berth.text("home")));
        berth.env.push(("TMPDIR", berth.text("tmp")));
        let more = berth.furnish(model);
        let built_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/profiles/panes");
        let built_in = fs::read_to_string(built_in.join(format!("{cli}.toml"))).expect("a profile");
        let command = built_in
            .lines()
            .find_map(|line| line.strip_prefix("command = [")?.strip_suffix(']'))
            .expect("a command");
        let mut words = vec![command.to_string()];
        words.extend(more.iter().map(|word| json!(word).to_string()));
        let names: Vec<String> = berth
            .env
            .iter()
            .map(|(name, _)| json!(name).to_string())
            .collect();
        berth.write(
            &format!("p/.pitcrew/profiles/panes/{cli}.toml"),
            &format!(
                "profile = \"{cli}\"\nextends = \"{cli}\"\nversion = 1\n[pane]\ncommand = [{}]\nforward = [{}]\n",
                words.join(", "),
                names.join(", ")
            ),
        );
        berth
    }

    /// The settings of the program; answers with what more it is started.
    fn furnish(&mut self, model: &str) -> Vec<String> {
        let project = self.text("p");
        let own = |words: &[&str]| words.iter().map(|word| (*word).to_string()).collect();
        match self.cli {
            "codex" => {
                self.write(
                    "home/.codex/config.toml",
                    &format!(
                        "model = \"mock-model\"\nmodel_provider = \"mock\"\ncheck_for_update_on_startup = false\n\
                         [model_providers.mock]\nname = \"mock\"\nbase_url = \"{model}/v1\"\nenv_key = \"MOCK_KEY\"\nwire_api = \"responses\"\n\
                         request_max_retries = 1\nstream_max_retries = 1\n[projects.\"{project}\"]\ntrust_level = \"trusted\"\n\
                         [analytics]\nenabled = false\n"
                    ),
                );
                self.env.push(("MOCK_KEY", "x".into()));
                // Our hooks alone stand there, and nobody is there to trust them.
                own(&[
                    "-a",
                    "on-request",
                    "-s",
                    "workspace-write",
                    "--dangerously-bypass-hook-trust",
                ])
            }
            "gemini" => {
                let settings = json!({
                    "security": { "auth": { "selectedType": "gemini-api-key" } }, "general": { "enableAutoUpdate": false },
                    "privacy": { "usageStatisticsEnabled": false }, "telemetry": { "enabled": false },
                });
                self.write("home/.gemini/settings.json", &settings.to_string());
                let trusted = json!({ &project: "TRUST_FOLDER" });
                self.write("home/.gemini/trustedFolders.json", &trusted.to_string());
                self.env.push(("GEMINI_API_KEY", "x".into()));
                self.env.push(("GOOGLE_GEMINI_BASE_URL", model.into()));
                own(&["-m", "gemini-2.5-flash"])
            }
            "claude" => {
                let known = json!({
                    "hasCompletedOnboarding": true, "theme": "dark",
                    "customApiKeyResponses": { "approved": [&KEY[KEY.len() - 20..]], "rejected": [] },
                    "projects": { &project: { "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true } },
                });
                self.write("home/.claude.json", &known.to_string());
                self.env.push(("ANTHROPIC_API_KEY", KEY.into()));
                self.env.push(("ANTHROPIC_BASE_URL", model.into()));
                self.env
                    .push(("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()));
                self.env.push(("DISABLE_AUTOUPDATER", "1".into()));
                own(&[
                    "--permission-mode",
                    "manual",
                    "--allowedTools=Bash(pitcrew inbox *)",
                ])
            }
            "copilot" => {
                let settings =
                    json!({ "trustedFolders": [&project], "banner": "never" }).to_string();
                self.write("home/.copilot/settings.json", &settings);
                self.write("home/.copilot/config.json", &settings);
                self.env
                    .push(("COPILOT_PROVIDER_BASE_URL", format!("{model}/v1")));
                self.env
                    .push(("COPILOT_PROVIDER_API_KEY", "sk-mock-0123456789".into()));
                self.env.push(("COPILOT_MODEL", "mock-model".into()));
                self.env.push(("COPILOT_OFFLINE", "true".into()));
                self.env.push(("COPILOT_AUTO_UPDATE", "false".into()));
                own(&["--allow-tool", "shell(pitcrew:*)"])
            }
            _ => {
                let config = json!({
                    "autoupdate": false, "share": "disabled",
                    "provider": { "mock": {
                        "npm": "@ai-sdk/openai-compatible", "name": "Mock",
                        "options": { "baseURL": format!("{model}/v1"), "apiKey": "sk-mock" },
                        "models": { "mock-model": { "name": "Mock Model", "limit": { "context": 128_000, "output": 4096 } } },
                    } },
                    "model": "mock/mock-model", "small_model": "mock/mock-model",
                    "permission": { "bash": { "*": "ask", "pitcrew *": "allow" }, "edit": "ask" },
                });
                self.write("home/.config/opencode/opencode.json", &config.to_string());
                Vec::new()
            }
        }
    }

    /// Makes the program ask whether the project is trusted.
    pub(crate) fn forgets_trust(&self) {
        let edit = |file: &str, from: &str, to: &str| {
            let path = self.path(&format!("home/{file}"));
            let text = fs::read_to_string(&path).expect("settings");
            assert!(text.contains(from), "{text}");
            fs::write(path, text.replace(from, to)).expect("a file");
        };
        let project = self.text("p");
        match self.cli {
            // It asks in repositories alone.
            "codex" => {
                edit(".codex/config.toml", &project, "/nowhere");
                let made = Command::new("git")
                    .args(["init", "-q"])
                    .arg(self.path("p"))
                    .status();
                assert!(made.expect("git runs").success());
            }
            "claude" => edit(".claude.json", &project, "/nowhere"),
            "gemini" => edit(".gemini/trustedFolders.json", &project, "/nowhere"),
            _ => {
                edit(".copilot/settings.json", &project, "/nowhere");
                edit(".copilot/config.json", &project, "/nowhere");
            }
        }
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        let folder = self.folder.path();
        let real = folder.canonicalize().expect("a real path");
        real.join(below)
    }

    fn text(&self, below: &str) -> String {
        self.path(below).to_string_lossy().into_owned()
    }

    fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    pub(crate) fn call(&self, words: &[&str]) -> Answer {
        let output = Command::new(env!("CARGO_BIN_EXE_pitcrew"))
            .args(words)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .env("TMUX_TMPDIR", self.path("tmux"))
            .current_dir(self.path("p"))
            .output()
            .expect("the program runs");
        Answer {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// What tmux says, for what a person does at the keyboard.
    pub(crate) fn tmux(&self, words: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-u", "-f", "/dev/null"])
            .args(words)
            .env_remove("TMUX")
            .env("TMUX_TMPDIR", self.path("tmux"))
            .output()
            .expect("tmux runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn pane(&self) -> String {
        let row = self.row();
        row["paneId"].as_str().unwrap_or_default().to_string()
    }

    /// A person types this, and Enter if it is a whole line.
    pub(crate) fn types(&self, text: &str, enter: Enter) {
        let pane = self.pane();
        self.tmux(&["send-keys", "-t", &pane, "-l", "--", text]);
        std::thread::sleep(Duration::from_millis(400));
        if enter == Enter::Pressed {
            self.tmux(&["send-keys", "-t", &pane, "Enter"]);
        }
    }

    pub(crate) fn presses(&self, key: &str) {
        let pane = self.pane();
        self.tmux(&["send-keys", "-t", &pane, key]);
    }

    pub(crate) fn screen(&self) -> String {
        let pane = self.pane();
        self.tmux(&["capture-pane", "-p", "-t", &pane])
    }

    /// The member, as `team status` has it.
    pub(crate) fn row(&self) -> Value {
        let status = self.call(&["team", "status", "t", "--json"]).json();
        status["snapshot"]["workers"][0].clone()
    }

    /// `ready`, `busy`, `waiting(permission)`.
    pub(crate) fn state(&self) -> String {
        let row = self.row();
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_string();
        match text("reason").as_str() {
            "" => text("state"),
            reason => format!("{}({reason})", text("state")),
        }
    }

    /// Waits until the member is so; answers for how long, in milliseconds.
    #[track_caller]
    pub(crate) fn becomes(&self, wanted: &str) -> u128 {
        let begun = Instant::now();
        loop {
            let state = self.state();
            if state == wanted {
                return begun.elapsed().as_millis();
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "{} never became {wanted} but {state}: {}\n{}",
                self.cli,
                self.row(),
                self.screen()
            );
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    #[track_caller]
    pub(crate) fn until(&self, what: &str, mut seen: impl FnMut() -> bool) -> u128 {
        let begun = Instant::now();
        while !seen() {
            assert!(
                begun.elapsed() < PATIENCE,
                "{}: never seen: {what}\n{}\n{}",
                self.cli,
                self.row(),
                self.screen()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        begun.elapsed().as_millis()
    }

    /// Sends the member a message; answers the word about the wake, `submitted` or the reason, and how long it took.
    pub(crate) fn send(&self, body: &str) -> (String, u128) {
        let begun = Instant::now();
        let sent = self
            .call(&["--team", "t", "send", "worker-1", body, "--json"])
            .json();
        let wake = &sent["wake"];
        let word = wake["reason"].as_str().or(wake["outcome"].as_str());
        (
            word.unwrap_or_default().to_string(),
            begun.elapsed().as_millis(),
        )
    }

    /// Where the message with this body stands.
    pub(crate) fn stands(&self, body: &str) -> String {
        let sent = self
            .call(&["--team", "t", "inbox", "--sent", "--json"])
            .json();
        let messages = sent["messages"].as_array().cloned().unwrap_or_default();
        let found = messages
            .iter()
            .find(|message| message["body"] == body || message["message"]["body"] == body);
        found
            .and_then(|message| message["stands"].as_str())
            .unwrap_or_default()
            .to_string()
    }
}

/// Whether a person ends what it types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Enter {
    Pressed,
    NotPressed,
}

impl Drop for Berth {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

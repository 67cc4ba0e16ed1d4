//! The tools on a real folder and a team in memory: what they do, and what they refuse.

use std::path::Path;
use std::time::Duration;

use pitcrew_core::claim::{FileLines, Lines, Mode, Patience, TTL_MS};
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::{Recruit, Seat};
use pitcrew_store::{MemoryStore, Project};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::clock::{ManualClock, SeededEntropy, SystemClock};
use crate::desk::{ClaimWish, Credentials, Founding, Plan};
use crate::model::ToolContext;
use crate::process::Environment;

struct Scene {
    folder: tempfile::TempDir,
    at: Arc<Bench>,
    tools: Vec<Arc<dyn Tool>>,
}

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

fn context(agent: &str) -> ToolContext {
    ToolContext {
        agent: name(agent),
        call_id: "call-1".to_string(),
        cancelled: CancellationToken::new(),
        deps: None,
    }
}

impl Scene {
    fn new() -> Self {
        Self::allowing(
            Commands::Refused,
            Web::Refused,
            Arc::new(ManualClock::at(1_000)),
        )
    }

    fn allowing(commands: Commands, web: Web, clock: Arc<dyn Clock>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".omp/state")).unwrap();
        let workspace = Workspace::of(&Project::at(folder.path()).unwrap()).unwrap();
        let (store, entropy) = (
            Arc::new(MemoryStore::new()),
            Arc::new(SeededEntropy::new(1)),
        );
        let team = name("t");
        let member = |member: &str| Recruit {
            name: name(member),
            role: "coder".into(),
            seat: Seat::Model,
            profile: None,
            task_id: None,
        };
        let plan = Plan {
            founding: Founding::default(),
            members: vec![member("ann"), member("bob")],
            tasks: Vec::new(),
        };
        Desk::new(&team, &*store, &*clock, &*entropy)
            .found(&plan)
            .unwrap();
        let toolbox = Toolbox::new(team, workspace, store, clock, entropy)
            .commands(commands)
            .web(web);
        Self {
            folder,
            at: Arc::clone(&toolbox.at),
            tools: toolbox.tools(),
        }
    }

    fn names(&self) -> Vec<&str> {
        self.tools
            .iter()
            .map(|tool| tool.spec().name.as_str())
            .collect()
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(path)).unwrap()
    }

    async fn call(&self, agent: &str, tool: &str, arguments: Value) -> ToolAnswer {
        self.call_in(&context(agent), tool, arguments).await
    }

    async fn call_in(&self, context: &ToolContext, tool: &str, arguments: Value) -> ToolAnswer {
        let Value::Object(arguments) = arguments else {
            panic!("no object: {arguments}");
        };
        let tool = self
            .tools
            .iter()
            .find(|one| one.spec().name == tool)
            .unwrap();
        tool.call(&arguments, context).await
    }

    fn claim(&self, agent: &str, file: &str, start: u64, end: u64) -> Result<(), NotDone> {
        let file = self.at.file(file)?;
        let text = self.at.workspace.text(&file)?;
        let wish = ClaimWish {
            text: text.as_deref().and_then(FileLines::of_text),
            file,
            lines: Lines::new(start, end)?,
            ttl_ms: TTL_MS,
            mode: Mode::Replace,
            patience: Patience::None,
        };
        let who = Credentials {
            token: None,
            claimed: Some(agent.to_string()),
        };
        self.at.desk().claim_lines(&who, &wish).map(drop)
    }

    fn held(&self, agent: &str, file: &str) -> Vec<(u64, u64)> {
        let file = self.at.file(file).unwrap();
        let text = self.at.workspace.text(&file).unwrap();
        let text = text.as_deref().and_then(FileLines::of_text);
        let held = self.at.held_by(&name(agent), &file, text.as_ref()).unwrap();
        held.iter()
            .map(|lines| (lines.start(), lines.end()))
            .collect()
    }
}

#[track_caller]
fn done(answer: &ToolAnswer, parts: &[&str]) {
    assert!(answer.ok, "{}", answer.text);
    says(answer, parts);
}

#[track_caller]
fn refused(answer: &ToolAnswer, parts: &[&str]) {
    assert!(!answer.ok, "{}", answer.text);
    says(answer, parts);
}

#[track_caller]
fn says(answer: &ToolAnswer, parts: &[&str]) {
    for part in parts {
        assert!(
            answer.text.contains(part),
            "{part:?} is not in {}",
            answer.text
        );
    }
}

#[test]
fn commands_and_the_web_are_offered_only_where_they_are_allowed() {
    let usual = [
        "read_file",
        "list_files",
        "search",
        "edit_file",
        "write_file",
    ];
    assert_eq!(Scene::new().names(), usual);
    let allowed = Commands::Allowed(Allowed {
        environment: Environment::empty(),
        time_limit: Duration::from_secs(5),
    });
    let web = Web::Allowed(Reach::Public);
    let scene = Scene::allowing(allowed, web, Arc::new(ManualClock::at(0)));
    assert_eq!(scene.names()[5..], ["run_command", "web_fetch"]);
    for tool in &scene.tools {
        let schema = Value::Object(tool.spec().schema.clone());
        assert_eq!(schema["type"], "object", "{}", tool.spec().name);
        assert_eq!(
            schema["additionalProperties"],
            false,
            "{}",
            tool.spec().name
        );
        assert!(schema.get("$schema").is_none());
        let properties = schema["properties"].as_object().unwrap();
        assert!(
            properties
                .values()
                .all(|one| one["description"].is_string())
        );
    }
}

#[tokio::test]
async fn a_file_is_read_in_parts_with_its_line_numbers() {
    let scene = Scene::new();
    let long: String = (1..=3_000).map(|n| format!("line {n}\n")).collect();
    scene.file("src/a.rs", long);
    scene.file("empty", "");
    scene.file("binary", [0xff, 0xfe]);
    let read = |arguments| scene.call("ann", "read_file", arguments);
    let answer = read(json!({ "path": "src/a.rs", "start_line": 10, "end_line": 11 })).await;
    done(
        &answer,
        &[
            "src/a.rs, lines 10 to 11 of 3000",
            "    10\tline 10\n    11\tline 11\n",
        ],
    );
    let answer = read(json!({ "path": "src/a.rs" })).await;
    done(&answer, &["lines 1 to 2000 of 3000. Next: start_line 2001"]);
    refused(
        &read(json!({ "path": "src/a.rs", "start_line": 4_000 })).await,
        &["lines 1 to 3000"],
    );
    done(&read(json!({ "path": "empty" })).await, &["is empty"]);
    refused(&read(json!({ "path": "binary" })).await, &["no text"]);
    refused(&read(json!({ "path": "nowhere" })).await, &["list_files"]);
    refused(
        &read(json!({ "file": "a" })).await,
        &["unknown field `file`"],
    );
    refused(
        &read(json!({ "not_json": "{\"pa" })).await,
        &["no JSON object", "{\\\"pa"],
    );
}

#[tokio::test]
async fn nothing_outside_of_the_project_is_reached() {
    let (scene, elsewhere) = (Scene::new(), tempfile::tempdir().unwrap());
    std::fs::write(elsewhere.path().join("secret"), "s3cret").unwrap();
    let link = |to: &Path, name: &str| {
        std::os::unix::fs::symlink(to, scene.folder.path().join(name)).unwrap();
    };
    link(elsewhere.path(), "out");
    link(&elsewhere.path().join("secret"), "linked");
    let absolute = elsewhere.path().join("secret");
    for path in [
        "out/secret",
        "linked",
        "../secret",
        absolute.to_str().unwrap(),
        "/etc/passwd",
    ] {
        for (tool, more) in [
            ("read_file", json!({})),
            ("edit_file", json!({ "old_text": "s3cret", "new_text": "" })),
            ("write_file", json!({ "content": "" })),
        ] {
            let mut arguments = more;
            arguments["path"] = path.into();
            let answer = scene.call("ann", tool, arguments).await;
            refused(&answer, &["Not done"]);
            assert!(!answer.text.contains("s3cret"));
        }
    }
    refused(
        &scene
            .call("ann", "list_files", json!({ "folder": "out" }))
            .await,
        &["no file inside"],
    );
    refused(
        &scene
            .call("ann", "search", json!({ "pattern": "s", "path": "../" }))
            .await,
        &["no file inside"],
    );
    let found = scene
        .call("ann", "search", json!({ "pattern": "s3cret" }))
        .await;
    done(&found, &["No line matches"]);
    assert_eq!(std::fs::read_to_string(absolute).unwrap(), "s3cret");
}

#[tokio::test]
async fn a_search_respects_ignore_files() {
    let scene = Scene::new();
    scene.file(".gitignore", "target\n");
    scene.file("target/x.rs", "fn needle() {}\n");
    scene.file("src/a.rs", "nothing\nfn needle() {}\n");
    scene.file("src/b.rs", "fn Needle() {}\n");
    let search = |arguments| scene.call("ann", "search", arguments);
    let answer = search(json!({ "pattern": r"fn needle\(" })).await;
    assert_eq!(answer.text, "1 lines:\nsrc/a.rs:2: fn needle() {}");
    let answer = search(json!({ "pattern": "needle", "ignore_case": true, "path": "src" })).await;
    done(&answer, &["2 lines", "src/b.rs:1"]);
    refused(
        &search(json!({ "pattern": "(" })).await,
        &["no regular expression"],
    );
    done(
        &scene.call("ann", "list_files", json!({})).await,
        &["3 files:\n.gitignore\nsrc/a.rs\nsrc/b.rs"],
    );
}

#[tokio::test]
async fn an_edit_wants_the_claim_and_the_claims_follow_it() {
    let scene = Scene::new();
    let text: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    scene.file("a.rs", &text);
    let edit = |agent: &'static str, old: &str, new: &str| {
        let arguments = json!({ "path": "a.rs", "old_text": old, "new_text": new });
        scene.call(agent, "edit_file", arguments)
    };
    refused(
        &edit("ann", "line 12\n", "x\n").await,
        &["lines 12", "you hold none", "start_line 12"],
    );
    scene.claim("ann", "a.rs", 10, 20).unwrap();
    scene.claim("bob", "a.rs", 30, 35).unwrap();
    refused(
        &edit("ann", "line 20\nline 21\n", "x\n").await,
        &["lines 21", "you hold 10-20"],
    );
    refused(&edit("ann", "line 31", "x").await, &["not claimed by you"]);
    refused(
        &edit("ann", "nowhere", "x").await,
        &["does not stand in a.rs"],
    );
    refused(
        &edit("ann", "line 1", "x").await,
        &["11 times", "every_place"],
    );
    assert_eq!(scene.text("a.rs"), text);

    done(
        &edit("ann", "line 12\n", "a\nb\nc\n").await,
        &["Changed a.rs at lines 12", "42 lines"],
    );
    assert_eq!(scene.text("a.rs"), text.replace("line 12\n", "a\nb\nc\n"));
    assert_eq!(scene.held("ann", "a.rs"), [(10, 22)]);
    assert_eq!(scene.held("bob", "a.rs"), [(32, 37)]);
    done(&edit("ann", "line 20\n", "").await, &["Changed"]);
    assert_eq!(scene.held("ann", "a.rs"), [(10, 21)]);
    done(&edit("bob", "line 31", "bob's").await, &["Changed"]);
}

#[tokio::test]
async fn a_new_file_wants_a_claim_and_a_whole_one_all_of_its_lines() {
    let scene = Scene::new();
    let write = |agent: &'static str, content: &str| {
        scene.call(
            agent,
            "write_file",
            json!({ "path": "deep/new.rs", "content": content }),
        )
    };
    refused(&write("ann", "x\n").await, &["not claimed", "start_line 1"]);
    scene.claim("ann", "deep/new.rs", 1, 3).unwrap();
    refused(&write("bob", "x\n").await, &["not claimed"]);
    done(
        &write("ann", "one\ntwo\nthree\n").await,
        &["which is new: 3 lines"],
    );
    assert_eq!(scene.held("ann", "deep/new.rs"), [(1, 3)]);
    done(
        &write("ann", "one\n2\nthree\nfour\n").await,
        &["4 lines now"],
    );
    assert_eq!(scene.text("deep/new.rs"), "one\n2\nthree\nfour\n");
    assert_eq!(scene.held("ann", "deep/new.rs"), [(1, 4)]);
    scene.claim("ann", "deep/new.rs", 1, 2).unwrap();
    refused(&write("ann", "x\n").await, &["lines 3-4"]);
}

#[tokio::test]
async fn a_claim_that_ran_out_changes_nothing() {
    let clock = Arc::new(ManualClock::at(1_000));
    let scene = Scene::allowing(Commands::Refused, Web::Refused, clock.clone());
    scene.file("a", "one\n");
    scene.claim("ann", "a", 1, 1).unwrap();
    clock.advance(i64::try_from(TTL_MS).unwrap() + 1);
    let arguments = json!({ "path": "a", "old_text": "one", "new_text": "two" });
    refused(
        &scene.call("ann", "edit_file", arguments).await,
        &["you hold none"],
    );
    assert_eq!(scene.text("a"), "one\n");
}

fn commands(limit: Duration) -> Scene {
    let environment = Environment::empty().set("PATH", "/usr/local/bin:/usr/bin:/bin");
    let allowed = Commands::Allowed(Allowed {
        environment,
        time_limit: limit,
    });
    Scene::allowing(allowed, Web::Refused, Arc::new(SystemClock))
}

#[tokio::test]
async fn a_command_runs_in_the_project_with_its_own_environment_alone() {
    let scene = commands(Duration::from_secs(20));
    scene.file("a.txt", "hello\n");
    let run = |command: &str| scene.call("ann", "run_command", json!({ "command": command }));
    refused(&run("env | grep HOME").await, &["status 1"]);
    let answer = run("cat a.txt; echo oops >&2").await;
    done(
        &answer,
        &["status 0", "--- output ---\nhello", "--- errors ---\noops"],
    );
    refused(&run("exit 3").await, &["status 3"]);
    let answer = run("yes | head -c 100000").await;
    done(&answer, &["bytes before it left out"]);
    assert!(answer.text.len() < 40_000);
}

#[tokio::test]
async fn a_command_ends_at_its_limit_and_when_its_call_is_given_up() {
    let scene = commands(Duration::from_secs(60));
    let slow = json!({ "command": "sleep 600 & echo $! > pid; wait", "timeout_seconds": 1 });
    refused(
        &scene.call("ann", "run_command", slow.clone()).await,
        &["ran longer than 1000 ms"],
    );
    // What nobody has collected yet is dead all the same.
    let is_gone = |pid: &str| {
        let stat = std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"));
        stat.map_or(true, |stat| stat.contains(") Z "))
    };
    assert!(is_gone(&scene.text("pid")));

    std::fs::remove_file(scene.folder.path().join("pid")).unwrap();
    let context = context("ann");
    let slow = json!({ "command": "sleep 600 & echo $! > pid; wait" });
    let pid_is_written = async {
        let pid = scene.folder.path().join("pid");
        while !std::fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n')) {
            tokio::task::yield_now().await;
        }
        context.cancelled.cancel();
    };
    let (answer, ()) = tokio::join!(scene.call_in(&context, "run_command", slow), pid_is_written);
    refused(&answer, &["It was stopped"]);
    assert!(is_gone(&scene.text("pid")));
}

/// A page on loopback that answers each request with what `answer` says.
async fn page(answer: &'static str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = vec![0; 4_096];
            let _ = stream.read(&mut asked).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    url
}

#[tokio::test]
async fn this_machine_is_fetched_from_only_where_that_is_allowed() {
    let url =
        page("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello").await;
    let moved =
        page("HTTP/1.1 302 Found\r\nlocation: http://localhost:1/\r\ncontent-length: 0\r\n\r\n")
            .await;
    let scene = |reach| {
        Scene::allowing(
            Commands::Refused,
            Web::Allowed(reach),
            Arc::new(ManualClock::at(0)),
        )
    };
    let (public, everywhere) = (scene(Reach::Public), scene(Reach::Everywhere));
    let answer = public.call("ann", "web_fetch", json!({ "url": url })).await;
    refused(&answer, &["127.0.0.1", "not allowed"]);
    let localhost = url.replace("127.0.0.1", "localhost");
    refused(
        &public
            .call("ann", "web_fetch", json!({ "url": localhost }))
            .await,
        &["not allowed"],
    );
    let answer = everywhere
        .call("ann", "web_fetch", json!({ "url": url }))
        .await;
    done(
        &answer,
        &["200 OK, text/plain:\n<fetched-", ">\nhello\n</fetched-"],
    );
    let answer = everywhere
        .call("ann", "web_fetch", json!({ "url": moved }))
        .await;
    refused(&answer, &["does not answer"]);
    for bad in ["file:///etc/passwd", "no address", "ftp://x/"] {
        refused(
            &everywhere
                .call("ann", "web_fetch", json!({ "url": bad }))
                .await,
            &["Not done"],
        );
    }
}

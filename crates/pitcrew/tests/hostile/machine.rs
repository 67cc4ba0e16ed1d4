//! A machine that gives no rights, no room and no reader.

use super::*;

/// The binary under another user when this is root, whom no permission stops.
fn without_rights(sandbox: &Sandbox, line: &[&str]) -> Answer {
    let mut command = sandbox.command(line);
    if fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0) {
        // Somebody else may not even reach the binary where it was built.
        let copy = sandbox.root().parent().unwrap().join("pitcrew");
        if !copy.exists() {
            fs::copy(command.get_program(), &copy).unwrap();
        }
        let mut other = plain_command(&copy);
        other
            .args(line)
            .env_clear()
            .current_dir(sandbox.root())
            .stdin(Stdio::null());
        other.uid(65_534).gid(65_534);
        command = other;
    }
    answer(command.output().unwrap())
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn folders_that_may_not_be_read_or_written_are_refused() {
    let sandbox = Sandbox::with_team(&["w1"], &["first"]);
    let root = sandbox.root();
    let state = [
        root.join(".omp"),
        root.join(".omp/state"),
        root.join(".omp/state/team"),
        sandbox.team("t", ""),
    ];
    set_mode(root.parent().unwrap(), 0o755);
    // Readable and not writable: listing works, changing is refused and leaves nothing.
    let open = |mode: u32, file: u32| {
        state.iter().for_each(|folder| set_mode(folder, mode));
        for below in ["mailbox", "tasks", "workers"] {
            set_mode(&sandbox.team("t", below), mode);
        }
        for below in ["config.json", "tasks/1.json"] {
            set_mode(&sandbox.team("t", below), file);
        }
    };
    let send = json!({ "team_name": "t", "from": "leader", "to": "w1", "body": "x" }).to_string();
    let claim = json!({ "team_name": "t", "task_id": "1", "worker": "w1" }).to_string();
    open(0o555, 0o444);
    let before = outside(&sandbox);
    without_rights(&sandbox, &["team", "status", "t", "--json"]).succeeded();
    for (request, input) in [("send-message", &send), ("claim-task", &claim)] {
        let answer = in_shape(&without_rights(
            &sandbox,
            &["team", "api", request, "--input", input, "--json"],
        ));
        assert_eq!(
            (&answer["ok"], &answer["code"]),
            (&json!(false), &json!("not_permitted")),
            "{request}"
        );
    }
    assert_eq!(
        without_rights(&sandbox, &["team", "init", "new", "--json"])
            .ended(3)
            .json()["code"],
        "not_permitted"
    );
    // Nothing may be read at all.
    open(0o700, 0o600);
    set_mode(&state[0], 0o000);
    for (request, input) in [
        ("send-message", &send),
        ("claim-task", &claim),
        ("mailbox-list", &send),
    ] {
        in_shape(&without_rights(
            &sandbox,
            &["team", "api", request, "--input", input, "--json"],
        ));
    }
    let found = without_rights(&sandbox, &["doctor"]).ended(3);
    assert!(found.stdout.contains('✗'), "{found:?}");
    set_mode(&state[0], 0o700);
    let after: BTreeSet<String> = outside(&sandbox)
        .into_iter()
        .filter(|path| !path.ends_with("/pitcrew"))
        .collect();
    assert_eq!(after, before);
}

/// The binary with no room for a file of more than `blocks` times 512 bytes.
fn with_little_room(sandbox: &Sandbox, blocks: u32, line: &[&str]) -> Answer {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    let mut command = plain_command(Path::new("/bin/sh"));
    command
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_pitcrew")])
        .args(line)
        .env_clear()
        .current_dir(sandbox.root())
        .stdin(Stdio::null());
    answer(command.output().unwrap())
}

#[test]
fn without_room_a_request_is_refused_and_what_was_there_stays_whole() {
    let sandbox = Sandbox::with_team(&["w1"], &["first"]);
    sandbox
        .call(["--team", "t", "send", "w1", "before"])
        .succeeded();
    let files = ["config.json", "tasks/1.json", "mailbox/w1.jsonl"];
    let before = files.map(|file| sandbox.read("t", file));
    let body = "x".repeat(4000);
    let send = json!({ "team_name": "t", "from": "leader", "to": "w1", "body": body }).to_string();
    let claim = json!({ "team_name": "t", "task_id": "1", "worker": "w1" }).to_string();
    let add = json!({ "team_name": "t", "description": body }).to_string();
    for blocks in [0, 1] {
        for (request, input) in [
            ("send-message", &send),
            ("claim-task", &claim),
            ("add-task", &add),
        ] {
            let answer = with_little_room(
                &sandbox,
                blocks,
                &["team", "api", request, "--input", input, "--json"],
            );
            let answer = in_shape(&answer);
            if blocks == 0 || request != "claim-task" {
                assert_eq!(answer["ok"], false, "{request} {answer}");
            }
        }
    }
    let listed = sandbox
        .api("mailbox-list", &json!({ "team_name": "t", "worker": "w1" }))
        .succeeded()
        .json();
    assert_eq!(listed["messages"].as_array().unwrap().len(), 1);
    assert!(listed.get("damage").is_none(), "{listed}");
    assert_eq!(sandbox.read("t", files[2]), before[2]);
    assert_eq!(sandbox.read("t", files[0]), before[0]);
    sandbox
        .call(["--team", "t", "send", "w1", "after"])
        .succeeded();
    let full = with_little_room(&sandbox, 0, &["team", "init", "new"]);
    assert_eq!(full.status, Some(3), "{full:?}");
    assert!(!sandbox.team("new", "").exists());
}

/// A real full disk, where this machine lets a test have one.
#[test]
fn on_a_full_disk_a_request_says_so_and_works_again_when_there_is_room() {
    let sandbox = Sandbox::new();
    let root = sandbox.root();
    let mount = |args: &[&str]| {
        let mut command = plain_command(Path::new("mount"));
        command.args(args).arg(&root).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !mount(&["-t", "tmpfs", "-o", "size=128k", "tmpfs"]) {
        skipped("this machine does not let a test mount a file system");
        return;
    }
    let sandbox = Mounted { sandbox, root };
    fs::create_dir(sandbox.root.join(".git")).unwrap();
    sandbox
        .sandbox
        .call(["team", "init", "t", "--member", "w1", "--task", "first"])
        .succeeded();
    let filler = sandbox.root.join("filler");
    let mut file = fs::File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &[0; 1024]).is_ok() {}
    drop(file);
    let send = json!({ "team_name": "t", "from": "leader", "to": "w1", "body": "x".repeat(8000) });
    let claim = json!({ "team_name": "t", "task_id": "1", "worker": "w1" });
    for (request, input) in [("send-message", &send), ("claim-task", &claim)] {
        let answer = in_shape(&sandbox.sandbox.api(request, input));
        assert_eq!(
            (&answer["ok"], &answer["code"]),
            (&json!(false), &json!("storage_full")),
            "{request}"
        );
    }
    assert_eq!(sandbox.sandbox.task("t", "1")["status"], "pending");
    fs::remove_file(&filler).unwrap();
    sandbox.sandbox.api("send-message", &send).succeeded();
    sandbox.sandbox.api("claim-task", &claim).succeeded();
    let listed = sandbox
        .sandbox
        .api("mailbox-list", &json!({ "team_name": "t", "worker": "w1" }))
        .succeeded()
        .json();
    assert_eq!(listed["messages"].as_array().unwrap().len(), 1);
}

struct Mounted {
    sandbox: Sandbox,
    root: std::path::PathBuf,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let mut command = plain_command(Path::new("umount"));
        drop(command.arg("-l").arg(&self.root).status());
    }
}

#[test]
fn a_reader_that_goes_away_ends_a_command_quietly_and_a_full_output_is_said() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let body = "x".repeat(100_000);
    for _ in 0..3 {
        sandbox
            .feed(["--team", "t", "send", "w1", "-"], body.as_bytes())
            .succeeded();
    }
    let lines: [&[&str]; 8] = [
        &["--team", "t", "--as", "w1", "inbox"],
        &["--team", "t", "--as", "w1", "inbox", "--json"],
        &["--team", "t", "--as", "w1", "inbox", "--next"],
        &["team", "status", "t", "--json"],
        &["man"],
        &["completions", "zsh"],
        &["--help"],
        &["doctor"],
    ];
    for line in lines {
        let mut child = sandbox
            .command(line)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let said = answer(child.wait_with_output().unwrap());
        assert!(
            said.status.is_some_and(|status| status <= 3),
            "{line:?}: {said:?}"
        );
        assert!(
            !said.stderr.contains("panicked") && !said.stderr.contains("write"),
            "{line:?}: {said:?}"
        );
    }
    // Nobody got the message that was taken, so nobody has acknowledged it.
    let mut child = sandbox
        .command(["--team", "t", "--as", "w1", "inbox", "--next", "--and-ack"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    child.wait().unwrap();
    let left = sandbox
        .call(["--team", "t", "--as", "w1", "inbox", "--json"])
        .succeeded()
        .json();
    assert_eq!(left["messages"].as_array().unwrap().len(), 3);

    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = sandbox
        .command(["team", "status", "t", "--json"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = answer(output).ended(3);
    assert!(said.stderr.contains("cannot write the answer"), "{said:?}");
}

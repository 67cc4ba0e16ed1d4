//! What a process is started with, and every way in which it cannot be started.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn refusal(launch: Launch) -> SpawnError {
    match Group::spawn(launch, Arc::new(SystemClock)) {
        Ok(group) => panic!("started: {group:?}"),
        Err(error) => error,
    }
}

fn file(folder: &Path, name: &str, content: &str, mode: u32) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named_with_the_folders_that_were_searched() {
    let mark = fresh_mark();
    let error = refusal(launch("no-such-agent", &mark));
    assert_eq!(error.code(), "program_not_found");
    assert_eq!(
        error.to_string(),
        "program \"no-such-agent\" not found in /usr/local/bin:/usr/bin:/bin"
    );
    let by_path = refusal(launch("./no/such/agent", &mark));
    assert_eq!(by_path.to_string(), "program \"./no/such/agent\" not found");
    assert_eq!(refusal(launch("", &mark)).code(), "program_not_found");
    assert_eq!(refusal(launch("/", &mark)).code(), "program_not_found");
    let no_path = Launch::new("sh", "/", Environment::empty(), mark.clone());
    assert_eq!(refusal(no_path).code(), "program_not_found");
    assert_nothing_runs(&mark);
}

#[tokio::test]
async fn a_missing_folder_is_not_taken_for_a_missing_program() {
    let mark = fresh_mark();
    let environment = Environment::empty().set("PATH", PATH);
    let error = refusal(Launch::new("sh", "/no/such/folder", environment, mark));
    assert_eq!(error.code(), "folder_not_found");
    assert_eq!(
        error.to_string(),
        "working folder /no/such/folder not found"
    );
}

#[tokio::test]
async fn a_file_that_cannot_be_run_says_why() {
    let mark = fresh_mark();
    let folder = tempfile::tempdir().unwrap();
    let plain = file(folder.path(), "plain", "#!/bin/sh\n", 0o644);
    let orphan = file(folder.path(), "orphan", "#!/no/such/interpreter\n", 0o755);
    let code = |path: &Path| refusal(launch(path.to_str().unwrap(), &mark)).code();
    assert_eq!(code(&plain), "program_not_executable");
    assert_eq!(code(&orphan), "interpreter_not_found");
    let search = Environment::empty().set("PATH", folder.path());
    let searched = Launch::new("plain", "/", search, mark.clone());
    assert_eq!(refusal(searched).code(), "program_not_executable");
}

#[tokio::test]
async fn arguments_beyond_what_the_system_takes_are_refused_with_their_length() {
    let mark = fresh_mark();
    let error = refusal(launch("true", &mark).args(["x".repeat(200_000)]));
    assert_eq!(error.code(), "arguments_too_long");
    let SpawnError::ArgumentsTooLong { total, longest } = error else {
        panic!("{error:?}");
    };
    assert_eq!(longest, 200_001);
    assert!(total >= longest);
    assert_eq!(
        refusal(launch("true", &mark).args(["a\0b"])).code(),
        "nul_byte"
    );
}

#[tokio::test]
async fn a_program_is_searched_from_its_own_folder_and_keeps_its_name() {
    let mark = fresh_mark();
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("bin")).unwrap();
    file(
        &folder.path().join("bin"),
        "tool",
        "#!/bin/sh\necho \"$0 $1\"; pwd",
        0o755,
    );
    let expected = fs::canonicalize(folder.path()).unwrap();
    for (program, path) in [("./bin/tool", PATH), ("tool", "bin:/usr/bin")] {
        let environment = Environment::empty().set("PATH", path);
        let launch = Launch::new(program, folder.path(), environment, mark.clone());
        let group = start(launch.args(["a  b;$(x)"]));
        assert!(ended_for_good(&group, &mark).await.is_success());
        let text = printed(&group);
        let (first, second) = text.trim_end().split_once('\n').unwrap();
        assert!(first.ends_with("/bin/tool a  b;$(x)"), "{first}");
        assert_eq!(Path::new(second), expected);
    }
}

#[tokio::test]
async fn a_process_sees_its_environment_and_its_mark_and_nothing_else() {
    let mark = fresh_mark();
    let group = start(launch("env", &mark));
    assert!(ended_for_good(&group, &mark).await.is_success());
    let mut lines: Vec<String> = printed(&group).lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            format!("PATH={PATH}"),
            format!("PITCREW_TURN={}", mark.turn())
        ]
    );
}

#[tokio::test]
async fn a_process_leads_a_session_of_its_own_without_a_terminal() {
    let mark = fresh_mark();
    let script = "cat /proc/$$/stat; : < /dev/tty";
    let group = start(shell(script, &mark));
    let pid = group.identity().pid;
    let ended = ended_for_good(&group, &mark).await;
    let text = printed(&group);
    let fields: Vec<&str> = text.split_whitespace().collect();
    let pid = pid.to_string();
    // Group, session, and no controlling terminal.
    assert_eq!(&fields[4..7], [pid.as_str(), pid.as_str(), "0"]);
    assert!(matches!(ended.how, How::Exited(code) if code != 0));
}

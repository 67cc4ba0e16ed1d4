use super::*;
use pitcrew_core::roster::{Member, Team};
use pitcrew_core::task::Task;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn changed<D: Serialize + DeserializeOwned>(disk: &str, change: impl FnOnce(&mut D)) -> String {
    let mut state: D = pitcrew_core::json::read(disk.as_bytes()).unwrap();
    let old = serde_json::to_vec(&state).unwrap();
    change(&mut state);
    let new = serde_json::to_vec(&state).unwrap();
    String::from_utf8(patch(disk.as_bytes(), &old, &new).unwrap()).unwrap()
}

#[test]
fn unknown_keys_and_the_order_of_keys_stay() {
    let disk = r#"{"x":1,"status":"pending","id":"1","deep":{"b":[1.0,"\ud800"],"a":{}},"description":"d\u0041"}"#;
    let text = changed(disk, |task: &mut Task| task.owner = Some("w1".into()));
    assert_eq!(
        text,
        r#"{"x":1,"status":"pending","id":"1","deep":{"b":[1.0,"\ud800"],"a":{}},"description":"d\u0041","owner":"w1"}"#
    );
}

#[test]
fn a_key_that_the_state_dropped_goes_and_a_null_that_it_never_knew_stays() {
    let disk = r#"{"id":"1","owner":"w1","result":null,"status":"pending","createdAt":"t"}"#;
    let text = changed(disk, |task: &mut Task| task.owner = None);
    assert_eq!(
        text,
        r#"{"id":"1","result":null,"status":"pending","createdAt":"t"}"#
    );
    let text = changed(disk, |task: &mut Task| task.result = Some("r".into()));
    assert_eq!(
        text,
        r#"{"id":"1","owner":"w1","result":"r","status":"pending","createdAt":"t"}"#
    );
}

#[test]
fn defaults_that_were_never_written_are_not_added() {
    let text = changed(r#"{"id":"1","status":"pending"}"#, |task: &mut Task| {
        task.attempts = 2;
    });
    assert_eq!(text, r#"{"id":"1","status":"pending","attempts":2}"#);
}

#[test]
fn a_text_that_lost_a_character_in_reading_keeps_it_when_something_else_changes() {
    let disk = r#"{"id":"1","description":"lone \ud800","status":"pending"}"#;
    let text = changed(disk, |task: &mut Task| task.attempts = 1);
    assert_eq!(
        text,
        r#"{"id":"1","description":"lone \ud800","status":"pending","attempts":1}"#
    );
}

const ROSTER: &str = r#"{"name":"t","workers":[{"name":"a","paneId":"%1","x":[1.50]},{"color":"red","name":"b","role":"r"},{"name":"c","y":{}}],"tmuxIdentity":{"serverPid":7},"cwd":"/p"}"#;

#[test]
fn members_keep_their_unknown_keys_by_name() {
    let text = changed(ROSTER, |team: &mut Team| {
        team.workers.remove(0);
        team.workers.reverse();
        team.workers[1].role = "lead".into();
    });
    assert_eq!(
        text,
        r#"{"name":"t","workers":[{"name":"c","y":{}},{"color":"red","name":"b","role":"lead"}],"tmuxIdentity":{"serverPid":7},"cwd":"/p"}"#
    );
}

#[test]
fn a_member_that_joins_is_written_beside_the_others() {
    let text = changed(ROSTER, |team: &mut Team| {
        let joined: Member = serde_json::from_str(r#"{"name":"d"}"#).unwrap();
        team.workers.push(joined);
        team.worker_count = 4;
    });
    assert!(
        text.contains(r#"{"name":"c","y":{}},{"name":"d","role":""}],"tmuxIdentity""#),
        "{text}"
    );
    assert!(text.ends_with(r#""cwd":"/p","workerCount":4}"#), "{text}");
}

#[test]
fn doubled_names_are_taken_in_order() {
    let disk = r#"{"name":"t","workers":[{"name":"a","x":1},{"name":"a","x":2}]}"#;
    let text = changed(disk, |team: &mut Team| team.workers[1].role = "r".into());
    assert_eq!(
        text,
        r#"{"name":"t","workers":[{"name":"a","x":1},{"name":"a","x":2,"role":"r"}]}"#
    );
}

#[test]
fn a_key_is_found_however_it_is_escaped() {
    let disk = r#"{"id":"1","st\u0061tus":"pending"}"#;
    let text = changed(disk, |task: &mut Task| {
        task.status = pitcrew_core::task::Status::Failed;
    });
    assert_eq!(text, r#"{"id":"1","st\u0061tus":"failed"}"#);
}

fn any_task() -> impl Strategy<Value = Task> {
    let text = proptest::option::of(".{0,5}");
    let status = prop_oneof![Just("pending"), Just("in_progress"), Just("completed")];
    let rest = (text.clone(), text.clone(), text, 0u32..3);
    let blocked = proptest::collection::vec("[a-c]", 0..4);
    (status, rest, blocked).prop_map(
        |(status, (owner, result, assignee, attempts), blocked_by)| {
            let text = format!(r#"{{"id":"1","status":"{status}"}}"#);
            Task {
                owner,
                result,
                assignee,
                attempts,
                blocked_by,
                ..serde_json::from_str(&text).unwrap()
            }
        },
    )
}

proptest! {
    #[test]
    fn what_is_patched_reads_as_the_new_state(old in any_task(), new in any_task(), more in ".{0,9}") {
        let mut disk = serde_json::to_value(&old).unwrap();
        disk.as_object_mut().unwrap().insert("unknown".into(), more.clone().into());
        let disk = serde_json::to_string_pretty(&disk).unwrap();
        let text = changed(&disk, |task: &mut Task| *task = new.clone());
        let read: Task = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read, new);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&value["unknown"], &serde_json::Value::from(more));
    }

    #[test]
    fn an_unchanged_state_keeps_every_byte(task in any_task()) {
        let disk = serde_json::to_string_pretty(&task).unwrap();
        prop_assert_eq!(changed(&disk, |_: &mut Task| ()), disk);
    }
}

//! What a project keeps beside its teams.

use std::os::fd::AsFd;

use pitcrew_core::Timestamp;
use pitcrew_core::loops::{Mode, Opening, Over, Ralph, cancel, start, tick};

use crate::{Project, StoreExt, StoreFailure};

fn project() -> (tempfile::TempDir, Project) {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::at(folder.path()).unwrap();
    (folder, project)
}

fn opened() -> Ralph {
    let opening = Opening {
        aim: "x",
        session_id: None,
        project_path: "/project",
        now: Timestamp::from_millis(0),
    };
    Ralph::opened(&opening, 3)
}

#[test]
fn looking_at_loops_makes_nothing_and_starting_one_makes_its_folder() {
    let (folder, project) = project();
    assert_eq!(project.state().view::<Ralph>(&()).unwrap(), None);
    assert!(!project.is_watched().unwrap() && !project.remove_loop(Mode::Ralph).unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

    let store = project.state_to_write().unwrap();
    let begun = store.update(&(), |slot| start(slot, &opened(), Over::Refuse));
    begun.unwrap().unwrap();
    let text = std::fs::read_to_string(folder.path().join(".omp/state/ralph.json")).unwrap();
    assert!(
        text.starts_with("{\n  \"active\": true,") && text.ends_with('}'),
        "{text}"
    );
}

#[test]
fn unknown_keys_of_a_loop_survive_a_tick_and_go_with_the_loop() {
    let (folder, project) = project();
    let store = project.state_to_write().unwrap();
    let path = folder.path().join(".omp/state/ralph.json");
    let text = "{\n  \"active\": true,\n  \"mood\": \"calm\",\n  \"iteration\": 2,\n  \"maxIterations\": null,\n  \"completedSlices\": 1,\n  \"startedAt\": \"\",\n  \"prompt\": \"x\",\n  \"projectPath\": \"/\"\n}";
    std::fs::write(&path, text).unwrap();
    store.update(&(), tick).unwrap().unwrap();
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        text.replace("\"completedSlices\": 1", "\"completedSlices\": 2")
    );
    let ended = store.update(&(), |slot: &mut Option<Ralph>| Ok::<_, ()>(cancel(slot)));
    assert!(ended.unwrap().unwrap().is_some() && !path.exists());
}

#[test]
fn a_loop_that_cannot_be_read_is_kept_until_it_is_removed() {
    let (folder, project) = project();
    let store = project.state_to_write().unwrap();
    let path = folder.path().join(".omp/state/ralph.json");
    std::fs::write(&path, "{\"active\":").unwrap();
    let ticked = store.update(&(), tick);
    assert!(matches!(ticked, Err(StoreFailure::CorruptDocument { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"active\":");
    assert!(project.remove_loop(Mode::Ralph).unwrap() && !path.exists());
}

#[test]
fn one_watches_a_project_and_the_right_goes_with_the_file() {
    let (_folder, project) = project();
    let watching = project.watch_over().unwrap().unwrap();
    assert!(project.is_watched().unwrap());
    assert!(project.watch_over().unwrap().is_none());

    let file = watching.into_handle();
    let taken = project.watch_with(file.as_fd()).unwrap().unwrap();
    drop(taken);
    assert!(project.is_watched().unwrap(), "the file is still open");
    drop(file);
    assert!(!project.is_watched().unwrap());

    let stranger = tempfile::tempfile().unwrap();
    assert!(project.watch_with(stranger.as_fd()).unwrap().is_none());
}

#[test]
fn the_right_to_watch_can_be_given_up_while_the_file_stays_open() {
    let (_folder, project) = project();
    let file = project.watch_over().unwrap().unwrap().into_handle();
    let taken = project.watch_with(file.as_fd()).unwrap().unwrap();
    taken.release(&project).unwrap();
    assert!(!project.is_watched().unwrap());
    let again = project.watch_over().unwrap().unwrap();
    assert!(project.watch_with(file.as_fd()).unwrap().is_none());
    drop(again);
}

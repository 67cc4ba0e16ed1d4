//! Finding a project, and creating, listing and removing its teams.

use super::*;
use crate::files::{Delivery, read_text, texts_in};
use crate::port::StoreExt;
use std::os::unix::fs::symlink;

fn team(text: &str) -> Team {
    Team::new(&name(text), "task", "", "/p", Timestamp::from_millis(0))
}

#[test]
fn the_root_is_the_nearest_folder_with_a_mark() {
    let dir = TempDir::new().unwrap();
    let base = dir.path();
    let deep = base.join("repo/packages/app/src");
    std::fs::create_dir_all(&deep).unwrap();
    let root = |start: &Path| Project::discover(start).unwrap().root().to_path_buf();
    assert_eq!(root(&deep), deep);
    std::fs::create_dir(base.join("repo/.git")).unwrap();
    assert_eq!(root(&deep), base.join("repo"));
    std::fs::write(base.join("repo/packages/app/package.json"), "{}").unwrap();
    assert_eq!(root(&deep), base.join("repo/packages/app"));
    std::fs::write(base.join("repo/packages/app/src/.git"), "gitdir: x").unwrap();
    assert_eq!(root(&deep), deep);
    let state = Project::at(base).unwrap().state_dir();
    assert_eq!(state, base.join(".omp/state"));
}

#[test]
fn looking_creates_nothing() {
    let dir = TempDir::new().unwrap();
    let project = Project::discover(dir.path()).unwrap();
    let store = project.team(&name("t"));
    assert!(project.teams().unwrap().is_empty());
    assert_eq!(store.view::<Team>(&()).unwrap(), None);
    assert!(store.list(Kind::Task).unwrap().is_empty());
    assert_eq!(
        store.read(&Log::Mailbox(name("w1")), 0, 10).unwrap(),
        Page::tail(0, 0)
    );
    assert!(!project.remove_team(&name("t")).unwrap());
    assert_eq!(store.clear_claim_marks().unwrap(), 0);
    assert!(store.worker(&name("w1")).names().unwrap().is_empty());
    let mut watch = store.watch().unwrap();
    assert_eq!(
        watch.next(std::time::Duration::from_millis(10)).unwrap(),
        None
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_new_team_is_whole() {
    let scene = scene();
    assert_eq!(scene.project.teams().unwrap(), [name("t")]);
    for folder in ["tasks", "mailbox", "workers", "dispatch", "approvals"] {
        assert!(scene.path(folder).is_dir());
    }
    assert_eq!(scene.store.view::<Team>(&()).unwrap().unwrap().name, "t");
    let left = std::fs::read_dir(scene.store.folder().parent().unwrap()).unwrap();
    assert_eq!(left.count(), 1, "no draft stays");
}

#[test]
fn names_of_teams_are_unique_without_case() {
    let scene = scene();
    for taken in ["t", "T"] {
        match scene
            .project
            .create_team(&name(taken), &team(taken))
            .unwrap()
        {
            Creation::Taken(by) => assert_eq!(by, "t"),
            Creation::Created(_) => panic!("{taken} was free"),
        }
    }
    assert_eq!(scene.project.teams().unwrap(), [name("t")]);
}

#[test]
fn one_of_many_creators_wins() {
    let dir = TempDir::new().unwrap();
    let project = Project::at(dir.path()).unwrap();
    let won = std::thread::scope(|scope| {
        let race = |n: usize| {
            let given = ["race", "RACE"][n % 2];
            let made = project.create_team(&name(given), &team(given)).unwrap();
            matches!(made, Creation::Created(_))
        };
        let racers: Vec<_> = (0..8).map(|n| scope.spawn(move || race(n))).collect();
        racers
            .into_iter()
            .map(|racer| racer.join().unwrap())
            .filter(|won| *won)
            .count()
    });
    assert_eq!(won, 1);
    assert_eq!(project.teams().unwrap().len(), 1);
}

#[test]
fn what_a_dead_creator_left_is_taken_away() {
    let scene = scene();
    let teams = scene.store.folder().parent().unwrap().to_path_buf();
    std::fs::create_dir_all(teams.join(".new.tmp/tasks")).unwrap();
    std::fs::write(teams.join(".new.tmp/tasks/1.json"), "{}").unwrap();
    let made = scene
        .project
        .create_team(&name("new"), &team("new"))
        .unwrap();
    let Creation::Created(store) = made else {
        panic!("the name was free")
    };
    assert!(store.list(Kind::Task).unwrap().is_empty());
    assert!(!teams.join(".new.tmp").exists());
}

#[test]
fn a_project_whose_root_is_missing_is_not_made() {
    let dir = TempDir::new().unwrap();
    let project = Project::at(&dir.path().join("typo")).unwrap();
    assert!(project.create_team(&name("t"), &team("t")).is_err());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_without_a_team_in_it_is_no_team_but_keeps_its_name() {
    let scene = scene();
    let teams = scene.store.folder().parent().unwrap().to_path_buf();
    std::fs::create_dir_all(teams.join("typo/mailbox")).unwrap();
    std::fs::create_dir_all(teams.join("not a name")).unwrap();
    std::fs::write(teams.join("file"), "").unwrap();
    assert_eq!(scene.project.teams().unwrap(), [name("t")]);
    let made = scene
        .project
        .create_team(&name("typo"), &team("typo"))
        .unwrap();
    assert!(matches!(made, Creation::Taken(_)));
    assert!(scene.project.remove_team(&name("typo")).unwrap());
    assert!(!teams.join("typo").exists());
}

#[test]
fn removing_follows_no_link() {
    let scene = scene();
    let outside = TempDir::new().unwrap();
    std::fs::create_dir(outside.path().join("mailbox")).unwrap();
    std::fs::write(outside.path().join("mailbox/keep"), "keep").unwrap();
    let before = snapshot(outside.path());
    symlink(outside.path(), scene.path("tasks/link")).unwrap();
    symlink(
        outside.path(),
        scene.store.folder().parent().unwrap().join("linked"),
    )
    .unwrap();
    assert!(scene.project.remove_team(&name("t")).unwrap());
    assert!(scene.project.remove_team(&name("linked")).unwrap());
    assert!(!scene.project.remove_team(&name("t")).unwrap());
    assert_eq!(snapshot(outside.path()), before);
    let teams = scene.store.folder().parent().unwrap();
    assert_eq!(std::fs::read_dir(teams).unwrap().count(), 0);
}

#[test]
fn state_kept_elsewhere_by_a_link_is_used() {
    let (dir, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    symlink(elsewhere.path(), dir.path().join(".omp")).unwrap();
    let project = Project::at(dir.path()).unwrap();
    let made = project.create_team(&name("t"), &team("t")).unwrap();
    assert!(matches!(made, Creation::Created(_)));
    assert!(elsewhere.path().join("state/team/t/config.json").exists());
}

#[test]
fn output_of_a_worker_is_created_once_and_read_from_its_end() {
    use std::io::Write as _;
    let scene = scene();
    let files = scene.store.worker(&name("w1"));
    assert_eq!(files.tail("turn-1.out", 9).unwrap(), None);
    let mut output = files.create("turn-1.out").unwrap().unwrap();
    output.write_all(b"first\nlast\n").unwrap();
    assert!(files.create("turn-1.out").unwrap().is_none());
    files
        .append("turn-1.out")
        .unwrap()
        .write_all(b"more\n")
        .unwrap();
    assert_eq!(
        files.tail("turn-1.out", 10).unwrap().unwrap(),
        b"last\nmore\n"
    );
    assert_eq!(
        files.tail("turn-1.out", 999).unwrap().unwrap(),
        b"first\nlast\nmore\n"
    );
    files.write("inbox.md", b"# one").unwrap();
    files.write("inbox.md", b"# two").unwrap();
    assert_eq!(files.names().unwrap(), ["inbox.md", "turn-1.out"]);
    assert_eq!(std::fs::read(files.path("inbox.md")).unwrap(), b"# two");
}

#[test]
fn deliveries_are_read_inside_their_folder_only() {
    let dir = TempDir::new().unwrap();
    let delivery = Delivery::at(dir.path());
    assert_eq!(delivery.manifest().unwrap(), None);
    std::fs::write(dir.path().join("manifest.json"), "[]").unwrap();
    std::fs::write(dir.path().join("lane-a.result.md"), "42\n").unwrap();
    symlink("/etc/passwd", dir.path().join("lane-b.result.md")).unwrap();
    assert_eq!(delivery.manifest().unwrap().unwrap(), b"[]");
    assert_eq!(delivery.result(&name("lane-a")).unwrap().unwrap(), b"42\n");
    assert_eq!(delivery.result(&name("lane-c")).unwrap(), None);
    assert!(matches!(
        delivery.result(&name("lane-b")),
        Err(StoreFailure::Escapes { .. })
    ));
    assert_eq!(
        Delivery::at(&dir.path().join("no")).manifest().unwrap(),
        None
    );
}

#[test]
fn texts_that_a_person_named_are_read_with_what_is_wrong_with_each() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("b.toml"), "b = 1").unwrap();
    std::fs::write(dir.path().join("a.toml"), [0xFF]).unwrap();
    std::fs::write(dir.path().join("c.txt"), "").unwrap();
    std::fs::create_dir(dir.path().join("d.toml")).unwrap();
    symlink(dir.path().join("b.toml"), dir.path().join("e.toml")).unwrap();
    let texts = texts_in(dir.path(), "toml").unwrap();
    let read: Vec<_> = texts
        .iter()
        .map(|found| {
            let name = found.path.file_name().unwrap().to_str().unwrap();
            (name, found.text.as_deref().ok())
        })
        .collect();
    assert_eq!(
        read,
        [
            ("a.toml", None),
            ("b.toml", Some("b = 1")),
            ("d.toml", None),
            ("e.toml", Some("b = 1"))
        ]
    );
    assert!(texts_in(&dir.path().join("no"), "toml").unwrap().is_empty());
    let pipe = dir.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    assert!(read_text(&pipe).is_err());
}

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use proptest::prelude::*;

use super::*;
use crate::name::TaskId;
use crate::time::Timestamp;

/// Tasks as `id: what it waits for`.
fn tasks(all: &[(&str, &[&str])]) -> Vec<Task> {
    all.iter()
        .map(|(id, on)| Task {
            blocked_by: on.iter().map(ToString::to_string).collect(),
            ..Task::new(&TaskId::new(id).unwrap(), "", Timestamp::from_millis(0))
        })
        .collect()
}

fn checked(tasks: &[Task]) -> Result<(), Refusal> {
    let edges: Vec<(&str, &[String])> = tasks
        .iter()
        .map(|task| (task.id.as_str(), task.blocked_by.as_slice()))
        .collect();
    check_dependencies(&edges, 0)
}

fn check_refused(all: &[(&str, &[&str])], id: &str, fault: DependencyFault) {
    let (refused, id) = (checked(&tasks(all)), id.to_string());
    assert_eq!(refused, Err(Refusal::InvalidDependency { id, fault }));
}

fn ids(all: &[&str]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

#[test]
fn b4_no_task_waits_for_itself_an_unknown_one_or_over_others_for_itself() {
    check_refused(
        &[("1", &[]), ("2", &["1", "2"])],
        "2",
        DependencyFault::Itself,
    );
    check_refused(&[("1", &["9"])], "1", DependencyFault::Unknown("9".into()));
    check_refused(&[("a", &["A"])], "a", DependencyFault::Unknown("A".into()));
    check_refused(
        &[("0", &["1"]), ("1", &["2"]), ("2", &["3"]), ("3", &["1"])],
        "1",
        DependencyFault::Cycle(ids(&["1", "2", "3", "1"])),
    );
}

#[test]
fn a_cycle_that_is_there_refuses_only_what_waits_for_it() {
    let edges = |all: &[(&str, &[&str])]| {
        let tasks = tasks(all);
        let edges: Vec<(&str, &[String])> = tasks
            .iter()
            .map(|task| (task.id.as_str(), task.blocked_by.as_slice()))
            .collect();
        check_dependencies(&edges, 4)
    };
    let there: [(&str, &[&str]); 4] = [("1", &["2"]), ("2", &["1"]), ("3", &["3"]), ("4", &["9"])];
    let with = |new: (&'static str, &'static [&'static str])| {
        let mut all = there.to_vec();
        all.push(new);
        edges(&all)
    };
    assert_eq!(with(("5", &[])), Ok(()));
    assert_eq!(with(("5", &["4"])), Ok(()));
    let refused = |id: &str, fault| {
        Err(Refusal::InvalidDependency {
            id: id.into(),
            fault,
        })
    };
    let cycle = DependencyFault::Cycle(ids(&["2", "1", "2"]));
    assert_eq!(with(("5", &["2"])), refused("2", cycle));
    let closed = DependencyFault::Cycle(ids(&["9", "4", "9"]));
    assert_eq!(with(("9", &["4"])), refused("9", closed));
}

#[test]
fn b4_what_is_no_cycle_passes() {
    let check = |all: &[(&str, &[&str])]| assert_eq!(checked(&tasks(all)), Ok(()));
    check(&[]);
    check(&[("1", &[])]);
    check(&[("3", &["1", "2", "1"]), ("2", &["1"]), ("1", &[])]);
    check(&[("d", &["b", "c"]), ("c", &["a"]), ("b", &["a"]), ("a", &[])]);
}

fn check_readiness(on: &[(&str, Option<Status>)], expected: Readiness) {
    let waits: Vec<&str> = on.iter().map(|(id, _)| *id).collect();
    let task = &tasks(&[("9", &waits)])[0];
    let status_of = |id: &str| {
        on.iter()
            .find(|(known, _)| *known == id)
            .and_then(|(_, status)| *status)
    };
    assert_eq!(readiness(task, status_of), expected);
}

#[test]
fn a_task_is_ready_when_all_that_it_waits_for_is_completed() {
    let completed = Some(Status::Completed);
    check_readiness(&[], Readiness::Ready);
    check_readiness(&[("1", completed), ("2", completed)], Readiness::Ready);
    check_readiness(
        &[
            ("1", completed),
            ("2", Some(Status::Pending)),
            ("3", Some(Status::InProgress)),
            ("4", Some(Status::Failed)),
            ("5", None),
        ],
        Readiness::Blocked {
            on: ids(&["2", "3", "4", "5"]),
            failed: ids(&["4"]),
        },
    );
}

#[test]
fn b4_a_failure_blocks_its_dependants_and_a_retry_frees_them() {
    let mut all = tasks(&[("1", &[]), ("2", &["1"]), ("3", &["2"]), ("4", &[])]);
    let member = crate::name::Name::new(crate::refusal::NameKind::Member, "w1").unwrap();
    let claim = |task: &mut Task, token: &str| {
        let token = token.to_string();
        let claimant = crate::task::Claimant {
            name: &member,
            token,
            lease_ms: None,
            holding: 0,
            limit: None,
        };
        task.claim(&claimant, &Readiness::Ready, Timestamp::from_millis(1))
    };
    let ready = |all: &[Task]| {
        readiness(&all[1], |id| {
            all.iter()
                .find(|task| task.id == id)
                .map(|task| task.status)
        })
    };
    let blocked = |failed: &[&str]| Readiness::Blocked {
        on: ids(&["1"]),
        failed: ids(failed),
    };
    let now = Timestamp::from_millis(2);

    claim(&mut all[0], "t1").unwrap();
    assert_eq!(ready(&all), blocked(&[]));
    all[0].finish("t1", Status::Failed, None, now).unwrap();
    assert_eq!(ready(&all), blocked(&["1"]));
    let told: Vec<&str> = dependants(&all, "1")
        .into_iter()
        .map(|task| task.id.as_str())
        .collect();
    assert_eq!(told, ["2", "3"]);
    assert!(
        all[0].finish("t1", Status::Failed, None, now).is_err(),
        "so it is told once"
    );

    all[0].retry(None).unwrap();
    assert_eq!(ready(&all), blocked(&[]));
    claim(&mut all[0], "t2").unwrap();
    all[0].finish("t2", Status::Completed, None, now).unwrap();
    assert_eq!(ready(&all), Readiness::Ready);
}

#[test]
fn two_million_dependencies_are_looked_at_once_each() {
    let mut all = tasks(&[]);
    for n in 0..2_000_usize {
        let id = TaskId::new(&n.to_string()).unwrap();
        let mut task = Task::new(&id, "", Timestamp::from_millis(0));
        task.blocked_by = all.iter().map(|before: &Task| before.id.clone()).collect();
        all.push(task);
    }
    assert_eq!(checked(&all), Ok(()));
    assert_eq!(dependants(&all, "0").len(), 1_999);
    all.reverse();
    assert_eq!(checked(&all), Ok(()));
    all[1_999].blocked_by.push("1999".into());
    assert_eq!(checked(&all).unwrap_err().code(), "invalid_dependency");
}

/// Up to 8 tasks with any dependencies, now and then on themselves or on one that does not exist.
fn graphs() -> impl Strategy<Value = Vec<Task>> {
    let step = prop_oneof![60 => (1..8_usize).prop_map(Some), 1 => Just(Some(0)), 1 => Just(None)];
    let steps = proptest::collection::vec(step, 0..4);
    proptest::collection::vec(steps, 1..8).prop_map(|all| {
        let task = |n: usize| {
            let other = |step: &Option<usize>| match step {
                Some(0) => n,
                Some(step) => (n + step % all.len().max(2)) % all.len(),
                None => 99,
            };
            Task {
                blocked_by: all[n].iter().map(|step| other(step).to_string()).collect(),
                ..Task::new(
                    &TaskId::new(&n.to_string()).unwrap(),
                    "",
                    Timestamp::from_millis(0),
                )
            }
        };
        (0..all.len()).map(task).collect()
    })
}

/// Takes away, again and again, a task whose dependencies are all gone: possible to the end without a cycle only.
fn can_be_worked_off(all: &[Task]) -> bool {
    let mut left: Vec<&Task> = all.iter().collect();
    loop {
        let waits = |task: &Task| {
            task.blocked_by
                .iter()
                .any(|on| left.iter().any(|other| other.id == *on))
        };
        let rest: Vec<&Task> = left.iter().copied().filter(|task| waits(task)).collect();
        if rest.len() == left.len() {
            return left.is_empty();
        }
        left = rest;
    }
}

fn waits_for<'a>(all: &'a [Task], id: &str, wanted: &str, seen: &mut Vec<&'a str>) -> bool {
    let Some(task) = all.iter().find(|task| task.id == id) else {
        return false;
    };
    if seen.contains(&task.id.as_str()) {
        return false;
    }
    seen.push(&task.id);
    task.blocked_by
        .iter()
        .any(|on| on == wanted || waits_for(all, on, wanted, seen))
}

proptest! {
    #[test]
    fn exactly_what_can_be_worked_off_passes(all in graphs()) {
        let knows = |id: &String| all.iter().any(|task| task.id == *id);
        match checked(&all) {
            Ok(()) => {
                prop_assert!(can_be_worked_off(&all));
                prop_assert!(all.iter().all(|task| task.blocked_by.iter().all(knows)));
            }
            Err(Refusal::InvalidDependency { id, fault: DependencyFault::Cycle(path) }) => {
                prop_assert_eq!((&id, path.first()), (&path[0], path.last()));
                for step in path.windows(2) {
                    let task = all.iter().find(|task| task.id == step[0]).unwrap();
                    prop_assert!(task.blocked_by.contains(&step[1]));
                }
                prop_assert!(!can_be_worked_off(&all));
            }
            Err(Refusal::InvalidDependency { id, fault }) => {
                let task = all.iter().find(|task| task.id == id).unwrap();
                match fault {
                    DependencyFault::Itself => prop_assert!(task.blocked_by.contains(&id)),
                    DependencyFault::Unknown(on) => prop_assert!(task.blocked_by.contains(&on) && !knows(&on)),
                    DependencyFault::Cycle(_) => {}
                }
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn dependants_are_those_that_wait_for_it_over_any_number_of_others(all in graphs(), id in 0..9_usize) {
        let id = id.to_string();
        let found: Vec<&str> = dependants(&all, &id).into_iter().map(|task| task.id.as_str()).collect();
        let waiting = all.iter().filter(|task| task.id != id && waits_for(&all, &task.id, &id, &mut Vec::new()));
        let expected: Vec<&str> = waiting.map(|task| task.id.as_str()).collect();
        prop_assert_eq!(found, expected);
    }
}

//! The tasks, handed in one by one, against the same tasks handed in as a whole.

use super::super::tasks::Tasks;
use super::*;
use crate::desk::Sight;
use crate::teamfile::ProfileKind;
use proptest::prelude::*;

const IDS: [&str; 6] = ["t1", "t2", "t10", "a", "B", "z-1"];

/// One change: which task, and what it is then.
#[derive(Debug, Clone)]
enum Step {
    There {
        id: usize,
        status: usize,
        assignee: bool,
        leased: bool,
        on: Vec<usize>,
    },
    Gone(usize),
    Unreadable(usize),
    Expect(usize, usize),
}

const STATUSES: [Status; 4] = [
    Status::Pending,
    Status::InProgress,
    Status::Completed,
    Status::Failed,
];

fn step() -> impl Strategy<Value = Step> {
    let (id, status) = (0..IDS.len(), 0..STATUSES.len());
    let on = prop::collection::vec(0..IDS.len(), 0..3);
    prop_oneof![
        6 => (id.clone(), status.clone(), any::<bool>(), any::<bool>(), on).prop_map(
            |(id, status, assignee, leased, on)| Step::There { id, status, assignee, leased, on }
        ),
        1 => id.clone().prop_map(Step::Gone),
        1 => id.clone().prop_map(Step::Unreadable),
        2 => (id, status).prop_map(|(id, status)| Step::Expect(id, status)),
    ]
}

fn made(id: usize, status: usize, assignee: bool, leased: bool, on: &[usize]) -> Task {
    let on: Vec<&str> = on
        .iter()
        .filter(|on| **on != id)
        .map(|on| IDS[*on])
        .collect();
    let mut task = task(IDS[id], assignee.then_some("a"), &on);
    task.status = STATUSES[status];
    task.lease_until = leased.then(|| at(500).wall);
    task
}

fn empty() -> Tasks {
    let kind = ProfileKind::Script;
    let terms = BTreeMap::from([("t10".to_string(), TaskTerms { kind, retries: 0 })]);
    Tasks::new(terms, ["z-1", "t2"].map(str::to_string).to_vec())
}

/// Everything that is asked of the tasks.
fn answers(tasks: &Tasks) -> (Vec<Vec<String>>, Vec<String>, TaskBoard) {
    let name = agent("a").name;
    let kinds = [ProfileKind::Agent, ProfileKind::Script];
    let open = kinds.into_iter().flat_map(|kind| {
        [at(0), at(1_000)].into_iter().flat_map(move |now| {
            tasks
                .open_for(kind, &agent("a").name, now.wall)
                .map(|open| open.map(|task| task.id.clone()).collect::<Vec<_>>())
        })
    });
    let taken = tasks.taken().map(|task| task.id.clone()).collect();
    for task in &tasks.board().tasks {
        assert_eq!(tasks.find(&task.id), Some(task));
        let free = tasks.board().is_free_for(task, &name, at(1_000).wall);
        let lists = tasks.open_for(tasks.kind(&task.id), &name, at(1_000).wall);
        let listed = lists.into_iter().flatten().any(|open| open.id == task.id);
        assert_eq!(free, listed, "{}", task.id);
    }
    (open.collect(), taken, tasks.board().clone())
}

proptest! {
    #[test]
    fn single_changes_come_to_the_same_as_the_whole_board(steps in prop::collection::vec(step(), 1..30)) {
        let mut tasks = empty();
        for step in steps {
            match step {
                Step::There { id, status, assignee, leased, on } => {
                    let before = tasks.find(IDS[id]).map(|task| task.status);
                    let now = made(id, status, assignee, leased, &on);
                    let moved = tasks.see(IDS[id], Sight::There(Box::new(now)));
                    prop_assert_eq!(moved, before != Some(STATUSES[status]));
                }
                Step::Gone(id) => {
                    let was_there = tasks.find(IDS[id]).is_some();
                    prop_assert_eq!(tasks.see(IDS[id], Sight::Gone), was_there);
                }
                Step::Unreadable(id) => {
                    tasks.see(IDS[id], Sight::Unreadable("torn".to_string()));
                }
                Step::Expect(id, status) => tasks.expect(IDS[id], STATUSES[status]),
            }
            let mut whole = empty();
            whole.see_all(tasks.board().clone());
            prop_assert_eq!(answers(&tasks), answers(&whole));
            prop_assert!(!whole.see_all(tasks.board().clone()), "nothing changed");
        }
    }
}

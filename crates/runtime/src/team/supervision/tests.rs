use std::sync::Mutex;

use pitcrew_core::restart::When;

use super::*;
use crate::clock::{SeededEntropy, TimerClock};

#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn note(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn count(&self, line: &str) -> usize {
        self.lines().iter().filter(|known| *known == line).count()
    }
}

/// A part that runs until it is told to end.
fn steady(name: &'static str, diary: &Diary) -> Part {
    let diary = diary.clone();
    Part {
        name: name.to_string(),
        begin: Box::new(move |token| {
            let diary = diary.clone();
            diary.note(format!("+{name}"));
            Box::pin(async move {
                token.cancelled().await;
                diary.note(format!("-{name}"));
                "told to".to_string()
            })
        }),
    }
}

/// A part whose first `lives` lives panic after `after_ms`.
fn shaky(name: &'static str, lives: usize, after_ms: u64, diary: &Diary) -> Part {
    let (diary, before) = (diary.clone(), Arc::new(Mutex::new(0)));
    Part {
        name: name.to_string(),
        begin: Box::new(move |token| {
            let diary = diary.clone();
            diary.note(format!("+{name}"));
            let life = {
                let mut before = before.lock().unwrap();
                *before += 1;
                *before
            };
            Box::pin(async move {
                if life <= lives {
                    tokio::time::sleep(Duration::from_millis(after_ms)).await;
                    panic!("life {life}");
                }
                token.cancelled().await;
                diary.note(format!("-{name}"));
                "told to".to_string()
            })
        }),
    }
}

fn policy() -> Policy {
    Policy {
        when: When::Always,
        first_ms: 10,
        longest_ms: 100,
        most: 3,
        within_ms: 5_000,
        settle_ms: 5_000,
    }
}

fn begin(parts: Vec<Part>) -> (CancellationToken, tokio::task::JoinHandle<Ending>) {
    let stop = CancellationToken::new();
    let supervised = supervise(
        parts,
        policy(),
        Arc::new(TimerClock::at(0)),
        Arc::new(SeededEntropy::new(1)),
        stop.clone(),
    );
    (stop, tokio::spawn(supervised))
}

#[tokio::test(start_paused = true)]
async fn parts_start_in_order_and_stop_in_the_opposite_one() {
    let diary = Diary::default();
    let (stop, ended) = begin(vec![
        steady("a", &diary),
        steady("b", &diary),
        steady("c", &diary),
    ]);
    while diary.count("+c") == 0 {
        tokio::task::yield_now().await;
    }
    stop.cancel();
    assert_eq!(ended.await.unwrap(), Ending::Stopped);
    assert_eq!(diary.lines(), ["+a", "+b", "+c", "-c", "-b", "-a"]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_one_starts_all_of_them_again() {
    let diary = Diary::default();
    let (stop, ended) = begin(vec![
        steady("a", &diary),
        shaky("b", 1, 50, &diary),
        steady("c", &diary),
    ]);
    while diary.count("+c") < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(
        diary.lines(),
        ["+a", "+b", "+c", "-c", "-a", "+a", "+b", "+c"]
    );
    stop.cancel();
    assert_eq!(ended.await.unwrap(), Ending::Stopped);
}

#[tokio::test(start_paused = true)]
async fn too_many_restarts_end_it_with_the_part_and_its_words() {
    let diary = Diary::default();
    let (_stop, ended) = begin(vec![steady("a", &diary), shaky("b", 9, 50, &diary)]);
    let expected = Ending::GaveUp {
        part: "b".to_string(),
        why: "panicked: life 4".to_string(),
        reason: Reason::TooManyRestarts {
            restarts: 3,
            within_ms: 5_000,
        },
    };
    assert_eq!(ended.await.unwrap(), expected);
    assert_eq!((diary.count("+a"), diary.count("-a")), (4, 4));
}

#[tokio::test(start_paused = true)]
async fn a_part_that_ends_while_a_sibling_is_being_stopped_is_not_waited_for() {
    let diary = Diary::default();
    // `c` takes long to end, and meanwhile `a` panics by itself.
    let slow = {
        let diary = diary.clone();
        Part {
            name: "c".to_string(),
            begin: Box::new(move |token| {
                let diary = diary.clone();
                diary.note("+c");
                Box::pin(async move {
                    token.cancelled().await;
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    diary.note("-c");
                    "told to".to_string()
                })
            }),
        }
    };
    let (stop, ended) = begin(vec![
        shaky("a", 1, 200, &diary),
        shaky("b", 1, 50, &diary),
        slow,
    ]);
    while diary.count("+c") < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(diary.lines(), ["+a", "+b", "+c", "-c", "+a", "+b", "+c"]);
    stop.cancel();
    assert_eq!(ended.await.unwrap(), Ending::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_part_that_does_not_listen_is_aborted() {
    let deaf = Part {
        name: "deaf".to_string(),
        begin: Box::new(|_| Box::pin(std::future::pending())),
    };
    let (stop, ended) = begin(vec![deaf]);
    tokio::task::yield_now().await;
    stop.cancel();
    assert_eq!(ended.await.unwrap(), Ending::Stopped);
}

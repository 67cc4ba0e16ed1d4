use alloc::string::ToString;
use alloc::vec::Vec;
use proptest::prelude::*;

use super::*;
use crate::mailbox::scripted::Said::*;
use crate::mailbox::scripted::{Placed, Said, fates, key, names, placed, scripts};

/// What is told of one message: place, id, and where the acknowledgement and the dead letter stand.
type Told = (u64, MessageKey, Option<u64>, Option<u64>);

/// Fills one window from line `from` on, offers every other line in the order that `order` puts them in, and answers
/// the line that the next window starts with.
fn window(
    log: &[Placed],
    from: usize,
    size: usize,
    order: fn(&mut Vec<&Placed>),
) -> (Listing, Option<usize>) {
    let mut listing = Listing::default();
    let filled = |line: &&Placed| {
        line.head
            .is_none_or(|head| listing.fill_within(size, line.at, head))
    };
    let inside = log[from..].iter().take_while(filled).count();
    let next = from + inside;
    let mut others: Vec<&Placed> = log[..from].iter().chain(&log[next..]).collect();
    order(&mut others);
    for line in others {
        if let Some(head) = line.head {
            listing.settle(line.at, head);
        }
    }
    (listing, (next < log.len()).then_some(next))
}

fn told(listing: &Listing) -> Vec<Told> {
    listing
        .messages()
        .map(|listed| (listed.at, listed.key, listed.delivered, listed.dead))
        .collect()
}

fn model(log: &[Placed]) -> Vec<Told> {
    fates(log)
        .into_iter()
        .map(|fate| (fate.at, key(fate.id), fate.delivered, fate.dead))
        .collect()
}

/// Which messages are listed, which of them as acknowledged, and which as given up.
fn check(script: &[Said], listed: &str, delivered: &str, dead: &str) {
    let log = placed(script);
    let (listing, next) = window(&log, 0, WINDOW, |_| {});
    assert_eq!(next, None);
    assert_eq!(told(&listing), model(&log));
    let of = |wanted: fn(&Listed) -> bool| {
        let listed = listing.messages().filter(|listed| wanted(listed));
        names(listed.map(|listed| listed.key))
    };
    assert_eq!(of(|_| true), listed, "{script:?}");
    assert_eq!(
        of(|listed| listed.delivered.is_some()),
        delivered,
        "{script:?}"
    );
    assert_eq!(of(|listed| listed.dead.is_some()), dead, "{script:?}");
}

#[test]
fn every_message_is_listed_once_whatever_became_of_it() {
    check(
        &[
            Message('a'),
            Message('b'),
            Message('a'),
            Delivered('b'),
            Damage,
            Message('c'),
            DeadLettered('c'),
        ],
        "abc",
        "b",
        "c",
    );
}

#[test]
fn the_last_acknowledgement_counts_wherever_it_stands() {
    let log = placed(&[Delivered('a'), Message('a'), Delivered('a'), Notified('a')]);
    let (listing, _) = window(&log, 0, WINDOW, |_| {});
    assert_eq!(
        told(&listing),
        [(log[1].at, key('a'), Some(log[2].at), None)]
    );
    check(&[Delivered('a'), Message('b'), Message('a')], "ba", "a", "");
    check(
        &[DeadLettered('a'), Message('b'), Message('a')],
        "ba",
        "",
        "a",
    );
    check(&[Inline('a'), Message('b')], "ab", "a", "");
    check(&[Message('a'), Inline('a')], "a", "a", "");
}

#[test]
fn a_dead_letter_that_was_put_back_is_dead_no_more() {
    check(
        &[Message('a'), DeadLettered('a'), PutBack('a', 1)],
        "a",
        "",
        "",
    );
    check(
        &[
            Message('a'),
            DeadLettered('a'),
            PutBack('a', 1),
            DeadLettered('a'),
        ],
        "a",
        "",
        "a",
    );
    check(
        &[Message('a'), PutBack('a', 1), DeadLettered('a')],
        "a",
        "",
        "a",
    );
}

#[test]
fn an_empty_log_lists_nothing() {
    assert!(Listing::default().is_empty());
    check(&[], "", "", "");
    let (listing, _) = window(&placed(&[Message('a')]), 0, WINDOW, |_| {});
    assert!(!listing.is_empty());
}

#[test]
fn a_window_holds_what_is_promised() {
    let message = |n: usize| Head::Message {
        key: MessageKey::of(&n.to_string()),
        delivered: false,
        redelivery: 0,
    };
    let mut listing = Listing::default();
    assert!((0..WINDOW).all(|n| listing.fill(n as u64, message(n))));
    assert!(!listing.fill(WINDOW as u64, message(WINDOW)));
    assert!(
        listing.fill(WINDOW as u64, message(0)),
        "a double needs no room"
    );
    assert_eq!(listing.messages().count(), WINDOW);

    let mut listing = Listing::default();
    let receipt = |n: usize| Head::Delivered(MessageKey::of(&n.to_string()));
    assert!((0..WINDOW).all(|n| listing.fill(n as u64, message(n))));
    assert!((0..WINDOW).all(|n| listing.fill(n as u64, receipt(n))));
    assert!((0..WINDOW).all(|n| listing.fill(n as u64, receipt(WINDOW + n))));
    assert!(!listing.fill(0, receipt(2 * WINDOW)));
    assert!(
        listing.fill(0, receipt(WINDOW)),
        "one more of the same needs no room"
    );
}

proptest! {
    #[test]
    fn windows_list_what_a_plain_reading_of_the_log_lists(script in scripts(40), size in 1..6_usize) {
        let orders: [fn(&mut Vec<&Placed>); 3] = [|_| {}, |lines| lines.reverse(), |lines| {
            let middle = lines.len() / 2;
            lines.rotate_left(middle);
        }];
        let log = placed(&script);
        for order in orders {
            let (mut listed, mut from) = (Vec::new(), Some(0));
            while let Some(start) = from {
                let (listing, next) = window(&log, start, size, order);
                listed.extend(told(&listing));
                from = next;
            }
            prop_assert_eq!(&listed, &model(&log));
        }
    }
}

use pitcrew_core::Timestamp;
use proptest::prelude::*;

use super::*;

/// Monday, 30 November 2026, 19:13:20 in UTC.
fn now() -> i64 {
    Timestamp::parse("2026-11-30T19:13:20Z")
        .unwrap()
        .as_millis()
}

/// What is read from `text` on a machine whose zone is `hours` ahead of UTC.
fn read(text: &str, hours: i32) -> Option<String> {
    let at = reset_in_text(text, now(), hours * 3_600)?;
    Some(
        Timestamp::from_millis(at)
            .to_string()
            .replace(":00.000Z", "")
            .replace(".000Z", ""),
    )
}

fn check(text: &str, expected: &str) {
    assert_eq!(read(text, 0).as_deref(), Some(expected), "{text}");
}

#[test]
fn times_of_day_are_the_next_such_time() {
    check(
        "You've hit your 5-hour limit · resets 10pm (UTC)",
        "2026-11-30T22:00",
    );
    check("resets 15:00", "2026-12-01T15:00");
    check("resets at 3:30 PM", "2026-12-01T15:30");
    check(
        "Claude usage limit reached. Your limit will reset at 11pm.",
        "2026-11-30T23:00",
    );
    check(
        "purchase more credits or try again at 8:43 PM.",
        "2026-11-30T20:43",
    );
    check("available again at 12 a.m.", "2026-12-01T00:00");
    check("resets 12:05pm", "2026-12-01T12:05");
    check("resets 23:59:30", "2026-11-30T23:59:30");
    check("resets at 9am tomorrow or so", "2026-12-01T09:00");
}

#[test]
fn the_machines_zone_counts_unless_the_words_say_utc() {
    let berlin = |text: &str| read(text, 1).unwrap();
    assert_eq!(berlin("resets 11pm (Europe/Berlin)"), "2026-11-30T22:00");
    assert_eq!(berlin("try again at 10:09 PM."), "2026-11-30T21:09");
    assert_eq!(berlin("resets 10pm (UTC)"), "2026-11-30T22:00");
    // 20:13 in Berlin: nine in the evening is today's, eight is tomorrow's.
    assert_eq!(berlin("resets 9pm"), "2026-11-30T20:00");
    assert_eq!(berlin("resets 8pm"), "2026-12-01T19:00");
    // Half past midnight in Auckland is already the next day there.
    assert_eq!(read("resets 1pm", 13).unwrap(), "2026-12-01T00:00");
    assert_eq!(read("resets 1pm", -8).unwrap(), "2026-11-30T21:00");
}

#[test]
fn a_time_that_only_just_passed_is_not_tomorrows() {
    check("try again at 7:13 PM", "2026-11-30T19:13");
    check("try again at 7:05 PM", "2026-11-30T19:05");
    check("try again at 7:03 PM", "2026-12-01T19:03");
}

#[test]
fn days_are_understood_as_clis_write_them() {
    check(
        "You've hit your weekly limit · resets Dec 3, 8pm (UTC)",
        "2026-12-03T20:00",
    );
    check("or try again at Dec 3rd, 2026 8:00 PM.", "2026-12-03T20:00");
    check("try again at Dec 4th, 2026 9:05 AM", "2026-12-04T09:05");
    check("resets Jan 2, 9am", "2027-01-02T09:00");
    check("resets on 4 December at 09:30", "2026-12-04T09:30");
    check("resets 2026-12-04 09:30", "2026-12-04T09:30");
    check("resets Dec 4", "2026-12-04T00:00");
    check("resets tomorrow at 3pm", "2026-12-01T15:00");
    check("resets Monday 9am", "2026-12-07T09:00");
    check("resets Mon 11pm", "2026-11-30T23:00");
    check("resets Thursday at 15:00", "2026-12-03T15:00");
    check("resets Friday, Dec 4, 9am", "2026-12-04T09:00");
}

#[test]
fn spans_count_from_now() {
    check("Try again in 2 hours", "2026-11-30T21:13:20");
    check(
        "try again in 4 days 20 hours 9 minutes.",
        "2026-12-05T15:22:20",
    );
    check(
        "Your quota will reset after 4h12m30s.",
        "2026-11-30T23:25:50",
    );
    check(
        "resets in 1 day, 2 hours and 5 minutes",
        "2026-12-01T21:18:20",
    );
    check("please retry in 38.5s", "2026-11-30T19:13:58.500Z");
    check("try again in an hour", "2026-11-30T20:13:20");
    check("retry-after: 30", "2026-11-30T19:13:50");
    check("Retry-After=90", "2026-11-30T19:14:50");
    check("try again in 90 seconds", "2026-11-30T19:14:50");
}

#[test]
fn instants_are_taken_as_they_stand() {
    check("resets at 2026-12-01T06:30:00Z.", "2026-12-01T06:30");
    check("resets at 2026-12-01T06:30:00+02:00", "2026-12-01T04:30");
    check(
        "Claude AI usage limit reached|1796076000",
        "2026-11-30T22:00",
    );
    check("retry after 1796076000", "2026-11-30T22:00");
    check("retry after 1796076000000", "2026-11-30T22:00");
}

#[test]
fn what_cannot_be_read_is_none() {
    for text in [
        "",
        "resets",
        "resets soon",
        "Rate limit reached: mock usage limit, try again later.",
        "exceeded retry limit, last status: 429 Too Many Requests",
        "Rate limited in src/main.rs:30",
        "try again at 25:00",
        "resets 13pm",
        "resets Foo 9",
        "resets 3",
        "usage limit reached|soon",
        "resets Dec 45, 9am",
        "resets in 900 days",
        "resets at 1999-01-01T00:00:00Z",
        "You have exhausted your daily quota on this model.",
    ] {
        assert_eq!(read(text, 0), None, "{text}");
    }
}

#[test]
fn days_and_dates_are_each_others_inverse() {
    assert_eq!(days_from_civil(1970, 1, 1), 0);
    assert_eq!(days_from_civil(2026, 11, 30), 20_787);
    for days in (-800_000..800_000).step_by(37) {
        let (year, month, day) = civil_from_days(days);
        assert_eq!(days_from_civil(year, month, day), days);
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic_and_no_answer_is_absurd(text in ".{0,120}", offset in -50_000i32..50_000) {
        for text in [text.clone(), format!("resets {text}"), format!("try again at {text}")] {
            if let Some(at) = reset_in_text(&text, now(), offset) {
                prop_assert!((now() - DAY_MS..=now() + FARTHEST_MS).contains(&at));
            }
        }
    }

    #[test]
    fn every_time_of_day_is_read_within_a_day(hour in 0i64..24, minute in 0i64..60, offset in -12i32..14) {
        let at = reset_in_text(&format!("resets {hour}:{minute:02}"), now(), offset * 3_600).unwrap();
        prop_assert!(at >= now() - JUST_PASSED_MS && at <= now() + DAY_MS);
        prop_assert_eq!((at + i64::from(offset) * HOUR_MS).rem_euclid(DAY_MS), hour * HOUR_MS + minute * MINUTE_MS);
    }
}

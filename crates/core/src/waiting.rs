//! Typed waiting: who waits for whom, since when and why, read off the state of the team.
//!
//! | reason | read off | for whom |
//! |---|---|---|
//! | `reply` | requests that nobody has answered | the recipient |
//! | `claim` | the line for lines of a file | who holds them, or comes first |
//! | `blocked_task` | a task meant for a member, whose blockers are not completed | who has those, or is to have them |
//! | `rate_limit` | a pause of the whole team | nobody |
//! | `permission`, `draft`, … | the life of a seat, as it was observed | nobody here |
//!
//! Always holds: nothing is remembered here and nothing changes; a wait is there as long as its cause is.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::Serialize;

use crate::claim::Claims;
use crate::exchange::Exchanges;
use crate::limiter::Limiter;
use crate::liveness::{Life, State, Wait};
use crate::name::Name;
use crate::refusal::NameKind;
use crate::task::{Status, Task};
use crate::time::Timestamp;

/// One wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waits {
    /// Who waits.
    pub member: Name,
    /// Why.
    pub reason: Wait,
    /// For whom; nobody when it is for no one of the team.
    pub on: Vec<Name>,
    /// The message, task or lines that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Since when, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Until when, if it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Who waits for an answer.
#[must_use]
pub fn of_requests(exchanges: &Exchanges) -> Vec<Waits> {
    let waits = exchanges.open().map(|open| Waits {
        member: open.from.clone(),
        reason: Wait::Reply,
        on: [open.to.clone()].into(),
        about: Some(open.id.clone()),
        since: Some(open.since),
        until: None,
    });
    waits.collect()
}

/// Who stands in line for lines.
#[must_use]
pub fn of_claims(claims: &Claims, now: Timestamp) -> Vec<Waits> {
    let waits = claims.waiting(now).map(|wait| Waits {
        member: wait.member.clone(),
        reason: Wait::Claim,
        on: claims.in_front_of(wait, now),
        about: Some(format!("{} {}", wait.file, wait.lines)),
        since: Some(wait.since),
        until: Some(wait.until),
    });
    waits.collect()
}

/// Whose task waits for others.
#[must_use]
pub fn of_tasks(tasks: &[Task]) -> Vec<Waits> {
    let named =
        |name: Option<&String>| name.and_then(|name| Name::new(NameKind::Member, name).ok());
    let waits = tasks.iter().filter_map(|task| {
        let member = named(task.assignee.as_ref())?;
        let is_open = |id: &&String| {
            let other = tasks.iter().find(|other| other.id == **id);
            other.is_none_or(|other| other.status != Status::Completed)
        };
        let open: Vec<&String> = task.blocked_by.iter().filter(is_open).collect();
        if task.status != Status::Pending || open.is_empty() {
            return None;
        }
        let whose = open.iter().filter_map(|id| {
            let other = tasks.iter().find(|other| other.id == **id)?;
            named(other.owner.as_ref().or(other.assignee.as_ref()))
        });
        let mut on: Vec<Name> = whose.filter(|name| *name != member).collect();
        on.sort();
        on.dedup();
        let blockers: Vec<&str> = open.iter().map(|id| id.as_str()).collect();
        Some(Waits {
            member,
            reason: Wait::BlockedTask,
            on,
            about: Some(format!("{} behind {}", task.id, blockers.join(", "))),
            since: Timestamp::parse(&task.created_at),
            until: None,
        })
    });
    waits.collect()
}

/// Whom a provider's limit keeps waiting.
#[must_use]
pub fn of_pause<'a>(
    limiter: &Limiter,
    members: impl Iterator<Item = &'a Name>,
    now: Timestamp,
) -> Vec<Waits> {
    let status = limiter.status(now);
    let Some(pause) = status.pause else {
        return Vec::new();
    };
    let waits = members.map(|member| Waits {
        member: member.clone(),
        reason: Wait::RateLimit,
        on: Vec::new(),
        about: None,
        since: Some(pause.since),
        until: Some(pause.until),
    });
    waits.collect()
}

/// What a seat waits for, as it was observed.
#[must_use]
pub fn of_life(member: &Name, life: &Life) -> Option<Waits> {
    let State::Waiting { on } = life.state else {
        return None;
    };
    Some(Waits {
        member: member.clone(),
        reason: on,
        on: Vec::new(),
        about: life.reason.as_ref().map(ToOwned::to_owned),
        since: Some(life.since),
        until: None,
    })
}

impl Waits {
    /// The wait in a few words, without its member and its times: `for bob: reply to m1`.
    #[must_use]
    pub fn words(&self) -> String {
        let on: Vec<&str> = self.on.iter().map(Name::as_str).collect();
        let why = match self.reason {
            Wait::Permission => "somebody to allow something",
            Wait::Reply => "a reply to",
            Wait::BlockedTask => "task",
            Wait::Claim => "lines of",
            Wait::RateLimit => "its provider",
            Wait::Draft => "a half-written text",
        };
        let about = self.about.as_deref();
        let what = about.map_or_else(|| why.to_string(), |about| format!("{why} {about}"));
        match on.is_empty() {
            true => format!("for {what}"),
            false => format!("for {}: {what}", on.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{Case, FilePath, Lines, Patience, Request};
    use crate::exchange::{Letter, Standing};
    use crate::mailbox::Intent;
    use crate::name::TaskId;
    use std::string::ToString;
    use std::vec;

    fn name(text: &str) -> Name {
        Name::new(NameKind::Member, text).unwrap()
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn task(id: &str, assignee: Option<&str>, blocked_by: &[&str]) -> Task {
        let mut task = Task::new(&TaskId::new(id).unwrap(), "d", at(5));
        task.assignee = assignee.map(ToString::to_string);
        task.blocked_by = blocked_by.iter().map(ToString::to_string).collect();
        task
    }

    #[test]
    fn a_task_meant_for_somebody_waits_for_whoever_has_its_blockers() {
        let mut one = task("1", None, &[]);
        one.owner = Some("bob".into());
        let tasks = [
            one,
            task("2", Some("cy"), &[]),
            task("3", Some("ann"), &["1", "2"]),
            task("4", None, &["1"]),
        ];
        let waits = of_tasks(&tasks);
        assert_eq!(waits.len(), 1);
        assert_eq!(waits[0].on, [name("bob"), name("cy")]);
        assert_eq!(
            (waits[0].since, waits[0].reason),
            (Some(at(5)), Wait::BlockedTask)
        );
        assert_eq!(waits[0].words(), "for bob, cy: task 3 behind 1, 2");
    }

    #[test]
    fn a_completed_blocker_is_waited_for_no_more() {
        let mut one = task("1", None, &[]);
        one.status = Status::Completed;
        assert_eq!(of_tasks(&[one, task("2", Some("ann"), &["1"])]), []);
    }

    #[test]
    fn whoever_stands_in_line_waits_for_those_in_front() {
        let mut claims = Claims::default();
        let file = FilePath::canonical("a.rs", "/", Case::Kept).unwrap();
        let lines = Lines::new(1, 9).unwrap();
        let (ann, bob) = (name("ann"), name("bob"));
        claims
            .claim(&Request::new(&ann, &file, lines), at(0))
            .unwrap();
        let patience = Patience::Until(at(500));
        let wish = Request {
            patience,
            ..Request::new(&bob, &file, lines)
        };
        claims.claim(&wish, at(3)).unwrap();
        let waits = of_claims(&claims, at(4));
        let expected = Waits {
            member: bob,
            reason: Wait::Claim,
            on: vec![ann],
            about: Some("a.rs 1-9".into()),
            since: Some(at(3)),
            until: Some(at(500)),
        };
        assert_eq!(waits, [expected]);
        assert_eq!(of_claims(&claims, at(500)), []);
    }

    #[test]
    fn a_request_is_waited_for_and_a_paused_team_waits_whole() {
        let mut exchanges = Exchanges::default();
        let (ann, bob) = (name("ann"), name("bob"));
        let intent = Some(Intent::Request);
        let letter = Letter {
            id: "m1",
            from: &ann,
            to: &bob,
            intent,
            reply_to: None,
        };
        exchanges.sent(&letter, Standing::Free, at(7));
        assert_eq!(of_requests(&exchanges)[0].words(), "for bob: a reply to m1");
        let mut limiter = Limiter::default();
        limiter.pause(at(100), "limit", at(10));
        let waits = of_pause(&limiter, [&ann, &bob].into_iter(), at(20));
        assert_eq!(waits.len(), 2);
        assert_eq!(
            (waits[0].since, waits[0].until),
            (Some(at(10)), Some(at(100)))
        );
        assert_eq!(of_pause(&limiter, [&ann].into_iter(), at(100)), []);
    }

    #[test]
    fn a_seat_waits_as_it_was_observed() {
        let mut life = Life::starting(at(0));
        assert_eq!(of_life(&name("ann"), &life), None);
        life.report(
            State::Waiting {
                on: Wait::Permission,
            },
            Some("run tests?".into()),
            at(9),
        );
        let waits = of_life(&name("ann"), &life).unwrap();
        assert_eq!((waits.reason, waits.since), (Wait::Permission, Some(at(9))));
        assert_eq!(waits.words(), "for somebody to allow something run tests?");
    }
}

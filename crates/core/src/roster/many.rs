//! Many members at once: one look over the roster, however many come or go.
//!
//! Each is decided on as [`Team::add`], [`Team::incarnate`] and [`Team::remove`] would decide; what differs is the cost.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Former, Member, Recruit, Team};
use crate::name::Name;
use crate::refusal::{NameKind, Refusal};
use crate::time::Timestamp;

impl Team {
    /// Adds members, each with the hash of the token of its life. Answers the incarnation of each, or why it was not
    /// added: `invalid_name` for the reserved name, `member_exists`.
    pub fn enlist(&mut self, recruits: &[(Recruit, String)]) -> Vec<Result<u32, Refusal>> {
        let fold = |name: &str| name.to_ascii_lowercase();
        let names = self.workers.iter().map(|member| member.name.as_str());
        let mut taken: BTreeMap<String, String> =
            names.map(|name| (fold(name), name.to_string())).collect();
        let mut lives: BTreeMap<String, u32> = BTreeMap::new();
        for former in &self.former {
            let before = lives.entry(fold(&former.name)).or_default();
            *before = former.incarnation.max(*before);
        }
        let mut joined = BTreeSet::new();
        let mut answers = Vec::with_capacity(recruits.len());
        for (recruit, token_hash) in recruits {
            let folded = fold(recruit.name.as_str());
            answers.push(if recruit.name.is_leader() {
                Err(Refusal::name(NameKind::Member, recruit.name.as_str()))
            } else if let Some(member) = taken.get(&folded) {
                let member = member.clone();
                Err(Refusal::MemberExists { member })
            } else {
                let before = lives.get(&folded).copied().unwrap_or_default();
                let incarnation = before.saturating_add(1);
                self.workers.push(Member {
                    name: recruit.name.to_string(),
                    role: recruit.role.clone(),
                    pane_id: None,
                    task_id: recruit.task_id.clone(),
                    seat: Some(recruit.seat),
                    profile: recruit.profile.clone(),
                    incarnation,
                    token_hash: Some(token_hash.clone()),
                });
                taken.insert(folded.clone(), recruit.name.to_string());
                joined.insert(folded);
                Ok(incarnation)
            });
        }
        self.former
            .retain(|former| !joined.contains(&fold(&former.name)));
        self.count();
        answers
    }

    /// Removes members, and answers which of the names were there.
    pub fn dismiss(&mut self, names: &[Name], now: Timestamp) -> Vec<Name> {
        let leaving: BTreeMap<&str, &Name> =
            names.iter().map(|name| (name.as_str(), name)).collect();
        let mut gone = Vec::new();
        let former = &mut self.former;
        self.workers.retain(|member| {
            let Some(name) = leaving.get(member.name.as_str()) else {
                return true;
            };
            gone.push(Name::clone(name));
            former.push(Former {
                name: member.name.clone(),
                incarnation: member.incarnation,
                left_at: now,
            });
            false
        });
        self.count();
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roster::Seat;

    fn recruit(name: &str) -> Recruit {
        Recruit {
            name: Name::new(NameKind::Member, name).unwrap(),
            role: "coder".to_string(),
            seat: Seat::Model,
            profile: None,
            task_id: None,
        }
    }

    fn team() -> Team {
        let name = Name::new(NameKind::Team, "t").unwrap();
        Team::new(&name, "", "", "", Timestamp::from_millis(0))
    }

    /// The same steps one by one and many at once come to the same roster and answers.
    #[test]
    fn many_at_once_is_as_one_by_one() {
        let now = Timestamp::from_millis(7);
        let (mut one, mut many) = (team(), team());
        for round in [
            &["ann", "bob", "ANN", "cy"][..],
            &["bob", "dee"],
            &["eve", "Eve", "bob"],
        ] {
            let recruits: Vec<(Recruit, String)> = round
                .iter()
                .map(|name| (recruit(name), "hash".to_string()))
                .collect();
            let single: Vec<Result<u32, Refusal>> = recruits
                .iter()
                .map(|(recruit, hash)| {
                    one.add(recruit.clone())?;
                    one.incarnate(recruit.name.as_str(), hash.clone())
                })
                .collect();
            assert_eq!(many.enlist(&recruits), single);
            assert_eq!(many, one);
            let leaving: Vec<Name> = ["bob", "nobody"]
                .iter()
                .map(|name| Name::new(NameKind::Member, name).unwrap())
                .collect();
            let single: Vec<Name> = leaving
                .iter()
                .filter(|name| one.remove(name.as_str(), now).is_ok())
                .cloned()
                .collect();
            assert_eq!(many.dismiss(&leaving, now), single);
            assert_eq!(many, one);
        }
    }
}

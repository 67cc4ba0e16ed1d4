use super::*;

mod recorded;

#[test]
fn what_is_dropped_does_not_reach_the_cli_and_what_is_set_wins() {
    let rules = EnvRules {
        set: BTreeMap::from([("A".into(), "new".into())]),
        forward: Vec::new(),
        drop: vec!["CLAUDE_*".into(), "A".into()],
    };
    let caller = [("A", "old"), ("B", "kept"), ("CLAUDE_X", "gone")]
        .map(|(name, value)| (name.into(), value.into()));
    let env = rules.over(Environment::all_of(caller));
    let wanted = [("A", "new"), ("B", "kept")].map(|(name, value)| (name.into(), value.into()));
    assert_eq!(env, Environment::all_of(wanted));
}

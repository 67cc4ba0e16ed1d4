use super::*;
use crate::desk::Setting;
use pitcrew_core::price::Micros;

fn kind_of(name: &str) -> Result<ProfileKind, String> {
    match name {
        "sh" => Ok(ProfileKind::Script),
        "claude" => Ok(ProfileKind::Agent),
        other => Err(format!("no profile is called {other}")),
    }
}

fn parse(text: &str) -> Result<TeamFile, TeamFileError> {
    TeamFile::parse(Path::new("dir/team.toml"), text, &kind_of)
}

#[track_caller]
fn refused(text: &str) -> Vec<String> {
    let error = parse(text).unwrap_err();
    error.to_string().lines().map(str::to_string).collect()
}

const TWO: &str =
    "[[members]]\nname = 'w1'\nprofile = 'sh'\n[[members]]\nname = 'w2'\nprofile = 'claude'\n";

#[test]
fn the_documented_file_is_read_whole() {
    let text = r#"
name = "audit"
goal = "look"
time_limit = "10m"
keep_going = false

[defaults]
profile = "sh"
role = "researcher"
turn_limit = "5m"

[[members]]
name = "sizes"
profile = "claude"
role = "reviewer"
prompt = "You know shell well"
args = ["--model", "x"]
env = { KEY = "value" }
folder = "packages/a"
allow_tools = true
restarts = 1
max_turns = 7
turn_limit = "1h30m"

[[members]]
name = "shell"
on_mail = "pitcrew inbox"

[[tasks]]
id = "count"
description = "Count"
for = "shell"
script = "wc -l"
time_limit = "90s"
retries = 2

[[tasks]]
description = "Think"
blocked_by = ["count"]
"#;
    let file = parse(text).unwrap();
    assert_eq!((file.name.as_str(), file.goal.as_str()), ("audit", "look"));
    assert_eq!(file.time_limit, Some(Duration::from_secs(600)));
    assert_eq!(file.after_failure, AfterFailure::End);
    let [sizes, shell] = file.members.as_slice() else {
        panic!("two members: {file:?}");
    };
    assert_eq!(
        (sizes.profile.as_str(), sizes.role.name.as_str()),
        ("claude", "reviewer")
    );
    assert_eq!(
        (sizes.restarts, sizes.max_turns, sizes.tools),
        (1, 7, Tools::All)
    );
    assert_eq!(sizes.turn_limit, Some(Duration::from_secs(5_400)));
    assert_eq!(sizes.folder.as_deref(), Some(Path::new("packages/a")));
    assert_eq!(sizes.args, ["--model", "x"]);
    assert_eq!(sizes.env["KEY"], "value");
    assert_eq!(
        (shell.profile.as_str(), shell.role.clone()),
        ("sh", Role::researcher())
    );
    assert_eq!(
        (shell.restarts, shell.max_turns, shell.tools),
        (3, 20, Tools::Team)
    );
    assert_eq!(shell.turn_limit, Some(Duration::from_secs(300)));
    assert_eq!(shell.on_mail.as_deref(), Some("pitcrew inbox"));
    let [count, think] = file.tasks.as_slice() else {
        panic!("two tasks: {file:?}");
    };
    assert_eq!((count.id.as_str(), count.retries), ("count", 2));
    assert_eq!(count.time_limit, Some(Duration::from_secs(90)));
    assert_eq!((think.id.as_str(), &think.assignee), ("1", &None));
    assert_eq!(think.blocked_by, [TaskId::new("count").unwrap()]);
}

#[test]
fn a_file_without_a_name_gives_its_own() {
    assert_eq!(parse(TWO).unwrap().name.as_str(), "team");
    let error = TeamFile::parse(Path::new("my team.toml"), TWO, &kind_of).unwrap_err();
    assert_eq!(
        error.to_string(),
        "my team.toml:1:1: name: the file's name \"my team\" is no team name, so one is needed here"
    );
}

#[test]
fn an_unknown_key_is_refused_with_its_place_and_its_name() {
    for (text, place) in [
        ("nmae = 'x'\n", "dir/team.toml:1:1: nmae: no key \"nmae\""),
        (
            "[defaults]\nlimit = '5m'\n",
            "dir/team.toml:2:1: limit: no key \"limit\"",
        ),
        (
            "[[members]]\nname = 'a'\n  rol = 'x'\n",
            "dir/team.toml:3:3: rol: no key \"rol\"",
        ),
        (
            "[[tasks]]\nnothing = 1\n",
            "dir/team.toml:2:1: nothing: no key \"nothing\"",
        ),
        (
            "keep_going = 'yes'\n",
            "dir/team.toml:1:14: keep_going: invalid type",
        ),
        (
            "[[members]]\nname = 'a'\nmax_turns = -1\n",
            "dir/team.toml:3:13: max_turns: ",
        ),
        ("name = 'a\n", "dir/team.toml:1:"),
    ] {
        let lines = refused(text);
        assert!(lines[0].starts_with(place), "{text:?}: {lines:?}");
    }
}

#[test]
fn an_unknown_key_names_the_nearest_one() {
    let lines = refused("[[members]]\nname = 'a'\ntun_limit = '5m'\n");
    assert!(
        lines[0].contains(
            "no key \"tun_limit\", did you mean \"turn_limit\"?; there is name, profile, "
        ),
        "{lines:?}"
    );
}

/// Every key that a table takes, as the reader itself lists them.
fn keys_of(table: &str) -> Vec<String> {
    let lines = refused(&format!("{table}\nno-such-key = 1\n"));
    let (_, listed) = lines[0].split_once("there is ").unwrap();
    listed.split(", ").map(str::to_string).collect()
}

#[test]
fn every_key_stands_in_the_documented_file_and_that_file_is_right() {
    let page = include_str!("../../../../docs/team-file.md");
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let tables: Vec<&str> = example.split("\n[").collect();
    for (header, keys) in [
        ("", keys_of("")),
        ("[defaults]", keys_of("[defaults]")),
        ("[[members]]", keys_of("[[members]]")),
        ("[[tasks]]", keys_of("[[tasks]]")),
        ("[limits]", keys_of("[limits]")),
    ] {
        let is_it = |table: &&&str| format!("[{table}").starts_with(header) && !header.is_empty();
        let table = tables.iter().find(is_it).unwrap_or(&tables[0]);
        for key in keys
            .iter()
            .filter(|key| !matches!(key.as_str(), "defaults" | "members" | "tasks" | "limits"))
        {
            let stands = table
                .lines()
                .any(|line| line.starts_with(&format!("{key} =")));
            assert!(stands, "{key} of {header:?} is not in docs/team-file.md");
        }
    }
    let known = example.replace("blocked_by = [\"other\"]", "blocked_by = []");
    let both = |name: &str| match name {
        // The example shows keys of both kinds at one member.
        "claude" => Ok(ProfileKind::Script),
        other => kind_of(other),
    };
    TeamFile::parse(Path::new("team.toml"), &known, &both).unwrap();
}

#[test]
fn limits_are_read_and_models_are_found_in_arguments() {
    let text = format!(
        "[limits]\nbudget = 5\nmember_budget = 0.5\nmember_budgets = {{ w2 = 1.25 }}\nrpm = 60\n{TWO}args = ['--model=m1']\n"
    );
    let file = parse(&text).unwrap();
    let usd = |text: &str| Setting::To(Micros::parse_usd(text).unwrap());
    let limits = &file.limits;
    assert_eq!(
        (&limits.budget, &limits.member_budget),
        (&usd("5"), &usd("0.5"))
    );
    assert_eq!(
        (&limits.rpm, &limits.tpm),
        (&Setting::To(60), &Setting::Keep)
    );
    assert_eq!(
        limits.member_budgets,
        [(file.members[1].name.clone(), usd("1.25"))]
    );
    assert_eq!(file.members[1].model.as_deref(), Some("m1"));
    let wrong = "[limits]\nbudget = -1\ntpm = 0\nmember_budgets = { w3 = 1 }\n";
    let lines = refused(&format!("{wrong}{TWO}"));
    for (line, start) in lines.iter().zip([
        "dir/team.toml:2:10: limits.budget: must be an amount of dollars",
        "dir/team.toml:3:7: limits.tpm: nobody works",
        "dir/team.toml:4:20: limits.member_budgets: no member \"w3\", did you mean",
    ]) {
        assert!(line.starts_with(start), "{line} | {start}");
    }
    assert_eq!(lines.len(), 3, "{lines:?}");
}

#[test]
fn a_profile_that_is_not_there_is_one_mistake() {
    let text = "[defaults]\nprofile = 'shh'\n[[members]]\nname = 'w1'\n[[members]]\nname = 'w2'\n\
                [[tasks]]\nfor = 'w1'\ndescription = 'x'\nscript = 'y'\n[[tasks]]\ndescription = 'z'\n";
    assert_eq!(
        refused(text),
        ["dir/team.toml:2:11: defaults.profile: no profile is called shh"]
    );
}

#[test]
fn every_mistake_is_reported_at_once_and_in_order() {
    let text = "time_limit = 'soon'\n\
                [[members]]\nname = 'a b'\nprofile = 'sh'\n\
                [[members]]\nname = 'w1'\nprofile = 'shh'\n\
                [[members]]\nname = 'w2'\n\
                [[members]]\nname = 'w3'\nprofile = 'sh'\nenv = { PITCREW_TEAM = 'x' }\n\
                [[members]]\nname = 'W3'\nprofile = 'sh'\n\
                [[members]]\nname = 'leader'\nprofile = 'sh'\n\
                [[members]]\nname = 'w4'\nprofile = 'claude'\non_mail = 'x'\nmax_turns = 0\n";
    let starts = [
        "dir/team.toml:1:14: time_limit: \"soon\" is no span",
        "dir/team.toml:3:8: members.name: \"a b\": a name has",
        "dir/team.toml:7:11: members.profile: no profile is called shh",
        "dir/team.toml:9:8: members.profile: a member needs one",
        "dir/team.toml:13:9: members.env.PITCREW_TEAM: is set by pitcrew itself",
        "dir/team.toml:15:8: members.name: there is a member w3 already",
        "dir/team.toml:18:8: members.name: \"leader\": a name has",
        "dir/team.toml:23:11: members.on_mail: only a profile that takes scripts",
        "dir/team.toml:24:13: members.max_turns: a member without a single turn",
    ];
    let lines = refused(text);
    assert_eq!(lines.len(), starts.len(), "{lines:#?}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line} | {start}");
    }
}

#[test]
fn a_task_must_be_for_somebody_who_can_do_it() {
    let task = |keys: &str| format!("{TWO}[[tasks]]\ndescription = 'x'\n{keys}\n");
    for (keys, why) in [
        (
            "for = 'w3'",
            "9:7: tasks.for: no member \"w3\", did you mean \"w1\"?; there is w1, w2",
        ),
        (
            "for = 'leader'",
            "9:7: tasks.for: no member \"leader\"; there is w1, w2",
        ),
        (
            "for = 'w1'",
            "9:7: tasks.script: the profile sh of w1 runs a script, and there is none",
        ),
        (
            "for = 'w2'\nscript = 'x'",
            "10:10: tasks.script: the profile claude of w2 takes no script",
        ),
        (
            "blocked_by = ['y']",
            "9:15: tasks.blocked_by: no task \"y\"",
        ),
        ("id = '../x'", "9:6: tasks.id: \"../x\": a name has"),
        (
            "time_limit = '5x'",
            "9:14: tasks.time_limit: \"5x\" is no span",
        ),
    ] {
        let lines = refused(&task(keys));
        assert!(
            lines[0].starts_with(&format!("dir/team.toml:{why}")),
            "{keys}: {lines:?}"
        );
    }
    let only_sh = "[[members]]\nname = 'w1'\nprofile = 'sh'\n[[tasks]]\ndescription = 'x'\n";
    assert_eq!(
        refused(only_sh),
        [
            "dir/team.toml:5:15: tasks.script: every member's profile runs a script, and this task has none"
        ]
    );
    let only_agents = "[[members]]\nname = 'w1'\nprofile = 'claude'\n[[tasks]]\ndescription = 'x'\nscript = 'y'\n";
    assert_eq!(
        refused(only_agents),
        ["dir/team.toml:6:10: tasks.script: no member's profile takes a script"]
    );
}

#[test]
fn tasks_that_wait_in_a_circle_are_refused() {
    let tasks = "[[tasks]]\nid = 'a'\ndescription = 'x'\nblocked_by = ['b']\n\
                 [[tasks]]\nid = 'b'\ndescription = 'y'\nblocked_by = ['a']\n";
    let lines = refused(&format!("{TWO}{tasks}"));
    assert!(
        lines[0].starts_with("dir/team.toml:9:15: tasks.blocked_by: "),
        "{lines:?}"
    );
    assert!(lines[0].contains("cycle a -> b -> a"), "{lines:?}");
}

#[test]
fn a_task_without_an_id_has_the_next_number_of_the_file() {
    let tasks = "[[tasks]]\ndescription = 'x'\n[[tasks]]\nid = '7'\ndescription = 'y'\n[[tasks]]\ndescription = 'z'\n";
    let file = parse(&format!("{TWO}{tasks}")).unwrap();
    let ids: Vec<&str> = file.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["8", "7", "9"]);
    let twice = "[[tasks]]\nid = 'A'\ndescription = 'x'\n[[tasks]]\nid = 'a'\ndescription = 'y'\n";
    assert_eq!(
        refused(&format!("{TWO}{twice}")),
        ["dir/team.toml:11:6: tasks.id: there is a task A already"]
    );
}

#[test]
fn a_team_needs_a_member() {
    assert_eq!(
        refused(""),
        ["dir/team.toml:1:1: members: a team needs at least one member"]
    );
}

#[test]
fn any_text_is_answered() {
    for text in [
        "\u{feff}",
        "naïve ☃ = 1",
        "[[members]]\nname = '☃'",
        "a = [\n1,\n",
        "\0",
        "=",
        "[members]",
    ] {
        assert!(parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn the_examples_can_be_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let profiles = crate::profile::Profiles::built_in();
    let kind_of = |name: &str| {
        let profile = profiles.get(name).map_err(|absent| absent.to_string())?;
        Ok(match profile.takes_script() {
            true => ProfileKind::Script,
            false => ProfileKind::Agent,
        })
    };
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        TeamFile::parse(&entry.path(), &text, &kind_of).unwrap_or_else(|error| panic!("{error}"));
        seen += 1;
    }
    assert!(seen > 0);
}

proptest::proptest! {
    #[test]
    fn whatever_stands_in_a_file_is_answered_with_places_inside_it(
        lines in proptest::collection::vec(
            proptest::sample::select(vec![
                "[[members]]", "[[tasks]]", "[defaults]", "name = 'a'", "name = 1", "profile = 'sh'", "profile = 'x'",
                "description = 'd'", "for = 'a'", "for = ['a']", "blocked_by = ['1', '2']", "script = '''", "'''", "id = '1'",
                "id = 'Ω'", "time_limit = '1h'", "retries = 99999999999", "env = { A = '\\u0000' }", "max_turns = 0", "é = 1", "\u{0}",
            ]),
            0..14,
        )
    ) {
        let text = lines.join("\n");
        let count = text.lines().count().max(1) + 1;
        if let Err(error) = parse(&text) {
            proptest::prop_assert!(!error.problems.is_empty());
            for problem in error.problems {
                proptest::prop_assert!((1..=count).contains(&problem.line) && problem.column > 0);
            }
        }
    }
}

#[test]
fn values_of_a_wrong_type_are_all_named_with_their_places() {
    let text = "name = 5\ntime_limit = 10\nkeep_going = 'no'\n[limits]\nrpm = 'x'\n[[members]]\nname = 'a'\nprofile = 'sh'\nargs = 'one'\n\
                [[tasks]]\ndescription = ['d']\nblocked_by = [1, '2', 3]\nretries = -1\n";
    let told = refused(text);
    for (at, start) in [
        "dir/team.toml:1:8: name: invalid type: integer `5`, expected a string",
        "dir/team.toml:2:14: time_limit: invalid type: integer `10`",
        "dir/team.toml:3:14: keep_going: invalid type: string \"no\"",
        "dir/team.toml:5:7: rpm: invalid type: string \"x\"",
        "dir/team.toml:9:8: args: invalid type: string \"one\"",
        "dir/team.toml:11:15: description: invalid type: sequence",
        "dir/team.toml:12:15: blocked_by: invalid type: integer `1`",
        "dir/team.toml:12:23: blocked_by: invalid type: integer `3`",
        "dir/team.toml:13:11: retries: invalid value: integer `-1`",
    ]
    .into_iter()
    .enumerate()
    {
        assert!(
            told.get(at).is_some_and(|line| line.starts_with(start)),
            "{start}\n{told:#?}"
        );
    }
    assert_eq!(told.len(), 9, "{told:#?}");
}

#[test]
fn what_no_program_can_be_handed_is_refused_before_the_run() {
    let long = "x".repeat(131_072);
    let text = format!(
        "goal = \"a\\u0000\"\n[[members]]\nname = 'w1'\nprofile = 'sh'\non_mail = \"a\\u0000\"\nargs = ['{long}']\nenv = {{ A = \"\\u0000\" }}\n\
         [[tasks]]\ndescription = \"d\\u0000\"\nscript = \"s\\u0000\"\n[[tasks]]\ndescription = 'd'\nscript = '{long}'\n"
    );
    let told = refused(&text);
    let keys: Vec<&str> = told
        .iter()
        .map(|line| line.split(": ").nth(1).unwrap())
        .collect();
    assert_eq!(
        keys,
        [
            "goal",
            "members.on_mail",
            "members.args",
            "members.env.A",
            "tasks.description",
            "tasks.script",
            "tasks.script"
        ]
    );
    assert!(told[6].contains("has 131072 bytes"), "{}", &told[6][..200]);
    let fits = format!(
        "{TWO}[[tasks]]\ndescription = 'd'\nfor = 'w1'\nscript = '{}'\n",
        &long[1..]
    );
    assert!(parse(&fits).is_ok());
}

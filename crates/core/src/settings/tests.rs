use super::*;
use alloc::string::ToString;
use alloc::vec;
use proptest::prelude::*;
use serde_json::json;

const OURS: [&str; 2] = ["hooks", "Stop"];

fn ours() -> Value {
    json!({ "hooks": [{ "type": "command", "command": "pitcrew" }] })
}

/// Adds an element, looks that it is there, and takes it out again.
#[track_caller]
fn goes_and_comes(text: &str) -> String {
    let added = add(text, OURS, &ours()).unwrap();
    let found = elements(&added, "hooks").unwrap();
    let place = found
        .iter()
        .find(|element| element.list == "Stop" && element.value == ours());
    let place = place.unwrap_or_else(|| panic!("{added}")).place;
    assert_eq!(remove(&added, OURS, place).unwrap(), text, "from {added}");
    added
}

#[test]
fn what_was_added_and_is_removed_leaves_the_text_as_it_was() {
    for text in [
        "{}",
        "{ }\n",
        "{\n}\n",
        "{\"a\":1}",
        "{\n  \"a\": 1\n}\n",
        "{\r\n\t\"a\": [1, 2,],\r\n}\r\n",
        "{\n  // one\n  \"a\": 1, // two\n  /* three */\n}\n",
        "{\n  \"a\": 1 // two\n}",
        "{\"a\":1,}",
        "{\"hooks\":{}}",
        "{\"hooks\":{ },\"b\":2}",
        "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n",
        "{\n  \"hooks\": {\n    \"Stop\": [ /* none */ ]\n  }\n}\n",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [] }\n    ],\n    \"Other\": [1]\n  }\n}\n",
        "{\n  \"hooks\": {\n    \"Other\": [1] // mine\n  },\n  \"z\": \"}],//\"\n}\n",
        "\u{FEFF}{\"a\":\"\\\"{\"}",
    ] {
        goes_and_comes(text);
    }
}

#[test]
fn what_is_added_is_laid_out_like_the_text() {
    let text = "{\n    \"model\": \"x\",\n    \"hooks\": {\n        \"Other\": []\n    }\n}\n";
    let added = add(text, OURS, &json!({ "command": "c" })).unwrap();
    assert_eq!(
        added,
        "{\n    \"model\": \"x\",\n    \"hooks\": {\n        \"Other\": [],\n        \"Stop\": [\n            {\n                \
         \"command\": \"c\"\n            }\n        ]\n    }\n}\n"
    );
}

#[test]
fn an_element_among_others_goes_alone() {
    let text = "{\"hooks\":{\"Stop\":[{\"a\":1},{\"ours\":1}, {\"b\":2}]}}";
    assert_eq!(
        remove(text, OURS, 1).unwrap(),
        "{\"hooks\":{\"Stop\":[{\"a\":1}, {\"b\":2}]}}"
    );
    let first = remove(text, OURS, 0).unwrap();
    assert_eq!(first, "{\"hooks\":{\"Stop\":[{\"ours\":1}, {\"b\":2}]}}");
    assert_eq!(
        replace(text, OURS, 1, &json!(7)).unwrap(),
        "{\"hooks\":{\"Stop\":[{\"a\":1},7, {\"b\":2}]}}"
    );
}

#[test]
fn a_comment_is_never_continued_into_what_follows() {
    let text = "{\"hooks\":{\"Stop\":[1, // mine\n 2, 3]}}";
    let removed = remove(text, OURS, 1).unwrap();
    let left: Vec<Value> = elements(&removed, "hooks")
        .unwrap()
        .into_iter()
        .map(|element| element.value)
        .collect();
    assert_eq!(left, vec![json!(1), json!(3)], "{removed}");
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let refused = |text: &str| add(text, OURS, &ours()).unwrap_err();
    assert!(matches!(refused(""), SettingsError::Syntax(_)));
    assert!(matches!(refused("[]"), SettingsError::Syntax(_)));
    assert!(matches!(refused("{\"a\":}"), SettingsError::Syntax(_)));
    assert!(matches!(
        refused("{\"a\":1 \"b\":2}"),
        SettingsError::Syntax(_)
    ));
    assert!(matches!(refused("{\"a\":1} x"), SettingsError::Syntax(_)));
    assert!(matches!(refused("{\"a\":tru}"), SettingsError::Syntax(_)));
    assert!(matches!(refused("{/* "), SettingsError::Syntax(_)));
    assert_eq!(
        refused("{\"hooks\":{},\"hooks\":{}}"),
        SettingsError::Twice("hooks".into())
    );
    assert_eq!(
        refused("{\"hooks\":[]}").to_string(),
        "has something else than a table at `hooks`"
    );
    assert_eq!(
        refused("{\"hooks\":{\"Stop\":\"x\"}}").to_string(),
        "has something else than a list at `hooks.Stop`"
    );
    let deep = "[".repeat(5000);
    assert!(matches!(refused(&deep), SettingsError::Syntax(_)));
}

fn blank() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", " ", "\n  ", "\t", " // c, {\n", "/* , ] */"])
}

proptest! {
    #[test]
    fn any_layout_comes_back(
        (a, b, c, d, e) in (blank(), blank(), blank(), blank(), blank()),
        (comma, own) in (any::<bool>(), prop::sample::select(vec!["", "1", "{\"x\":[]}"])),
    ) {
        let comma = if comma && !own.is_empty() { "," } else { "" };
        let text = format!("{{{a}\"k\"{b}:{c}\"v\",{d}\"hooks\":{{\"Stop\"{b}:[{a}{own}{d}{comma}{e}]{c}}}{e}}}");
        prop_assume!(scan(&text).is_ok());
        goes_and_comes(&text);
        let outer = format!("{{{a}\"k\"{b}:{c}\"v\"{d}{e}}}{a}");
        goes_and_comes(&outer);
    }
}

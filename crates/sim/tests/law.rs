//! The law of this workspace, as a test: which crate may know which, where files, processes, clocks and the terminal
//! live (`homes`), how long and how named files are, and what `pages` may say.
//!
//! It reads manifests through `cargo metadata` and sources as text (`source`). Test items, test files, benches, examples and
//! `crates/sim` (equipment, never published) may open and start what they need.
//!
//! A failure names each place and says why the rule is there.
#![allow(
    clippy::expect_used,
    reason = "a repository that cannot be read fails its test"
)]

#[path = "law/homes.rs"]
mod homes;
#[path = "law/pages.rs"]
mod pages;
#[path = "law/source.rs"]
mod source;

use serde_json::Value;
use source::Source;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Each crate and the ones it may depend on. The order is the law: `pitcrew → runtime → store → core`.
const CRATES: &[(&str, &[&str])] = &[
    ("pitcrew-core", &[]),
    ("pitcrew-store", &["pitcrew-core"]),
    ("pitcrew-runtime", &["pitcrew-core", "pitcrew-store"]),
    (
        "pitcrew",
        &["pitcrew-core", "pitcrew-store", "pitcrew-runtime"],
    ),
    (
        "pitcrew-sim",
        &[
            "pitcrew-core",
            "pitcrew-store",
            "pitcrew-runtime",
            "pitcrew",
        ],
    ),
];

/// What `core` may build on: pure crates that work without `std`.
const CORE_BUILDS_ON: &[&str] = &[
    "jiff",
    "serde",
    "serde_json",
    "sha2",
    "thiserror",
    "unicode-normalization",
];

const EMPTY_NAMES: &[&str] = &[
    "utils", "util", "common", "helpers", "helper", "manager", "types", "imp", "misc", "mod",
];

/// Fails with every breach and the rule's reason.
#[track_caller]
fn none(reason: &str, breaches: impl IntoIterator<Item = String>) {
    let breaches: Vec<String> = breaches.into_iter().collect();
    assert!(
        breaches.is_empty(),
        "{reason}\n  {}\n",
        breaches.join("\n  ")
    );
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("the crate lies two folders below the root")
        .to_path_buf()
}

/// Every text file of the repository by its path from the root with `/`, build products and team state left out.
fn texts() -> BTreeMap<String, String> {
    fn walk(folder: &Path, name: &str, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder)
            .expect("a folder of the repository")
            .flatten()
        {
            let (path, own) = (
                entry.path(),
                entry.file_name().to_string_lossy().into_owned(),
            );
            let name = if name.is_empty() {
                own
            } else {
                format!("{name}/{own}")
            };
            if ["target", ".git", ".omp", "Cargo.lock"].contains(&name.as_str()) {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => walk(&path, &name, found),
                Ok(kind) if kind.is_file() => {
                    let bytes = fs::read(&path).expect("a file of the repository");
                    if let Ok(text) = String::from_utf8(bytes) {
                        found.insert(name, text);
                    }
                }
                _ => {}
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&root(), "", &mut found);
    found
}

/// The sources that become part of the product, build scripts included.
fn shipped_sources() -> Vec<(String, Source)> {
    let is_test = |name: &str| {
        name.ends_with("/tests.rs")
            || name
                .split('/')
                .any(|part| part == "tests" || part == "benches" || part == "examples")
    };
    let shipped = |name: &str| {
        name.starts_with("crates/")
            && name.ends_with(".rs")
            && !name.starts_with("crates/sim/")
            && !is_test(name)
    };
    texts()
        .into_iter()
        .filter(|(name, _)| shipped(name))
        .map(|(name, text)| (name, Source::parse(&text)))
        .collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "manifests are read the way cargo reads them"
)]
fn packages() -> Vec<Value> {
    let answer = std::process::Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(root().join("Cargo.toml"))
        .output()
        .expect("cargo can be started");
    assert!(
        answer.status.success(),
        "{}",
        String::from_utf8_lossy(&answer.stderr)
    );
    let metadata: Value = serde_json::from_slice(&answer.stdout).expect("cargo metadata is JSON");
    metadata["packages"]
        .as_array()
        .expect("a list of packages")
        .clone()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn dependencies(package: &Value) -> impl Iterator<Item = &Value> {
    package["dependencies"].as_array().into_iter().flatten()
}

#[test]
fn the_workspace_has_five_crates() {
    let mut found: Vec<String> = packages()
        .iter()
        .map(|package| text(package, "name").to_owned())
        .collect();
    let mut named: Vec<String> = CRATES.iter().map(|(name, _)| (*name).to_owned()).collect();
    found.sort();
    named.sort();
    assert_eq!(
        found, named,
        "a sixth crate needs a reason as good as the first five have, here and in docs/decisions"
    );
}

#[test]
fn dependencies_point_one_way() {
    let mut breaches = Vec::new();
    for package in packages() {
        let name = text(&package, "name");
        let allowed = CRATES
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(&[][..], |(_, allowed)| allowed);
        for dependency in
            dependencies(&package).filter(|found| text(found, "name").starts_with("pitcrew"))
        {
            let target = text(dependency, "name");
            let equips_tests = text(dependency, "kind") == "dev" && target == "pitcrew-sim";
            if !allowed.contains(&target) && !equips_tests {
                breaches.push(format!("{name} -> {target}"));
            }
        }
    }
    none(
        "dependencies point one way: pitcrew -> runtime -> store -> core, so that each can be read and tested alone",
        breaches,
    );
}

#[test]
fn core_builds_on_pure_crates_without_std() {
    let packages = packages();
    let core = packages
        .iter()
        .find(|package| text(package, "name") == "pitcrew-core")
        .expect("core is a package");
    let built_on = dependencies(core).filter(|dependency| dependency["kind"].is_null());
    let breaches = built_on.filter_map(|dependency| {
        let name = text(dependency, "name");
        let features = dependency["features"].as_array().into_iter().flatten();
        let has_std = dependency["uses_default_features"] == true
            || features.into_iter().any(|feature| feature == "std");
        match (CORE_BUILDS_ON.contains(&name), has_std) {
            (false, _) => Some(format!("{name} is not on the list")),
            (true, true) => Some(format!("{name} comes with `std`")),
            (true, false) => None,
        }
    });
    none(
        "core has no I/O, clock, threads or randomness, and neither has what it builds on",
        breaches,
    );
}

#[test]
fn core_is_no_std() {
    let sources = shipped_sources();
    let core: Vec<_> = sources
        .iter()
        .filter(|(name, _)| name.starts_with("crates/core/src/"))
        .collect();
    let declared = core.iter().any(|(name, source)| {
        name == "crates/core/src/lib.rs" && source.code().contains("#![no_std]")
    });
    assert!(
        declared,
        "crates/core/src/lib.rs says `#![no_std]`: the compiler proves that core has no clock, files or threads"
    );
    let uses = core.iter().flat_map(|(name, source)| {
        let mentions = source
            .mentions()
            .into_iter()
            .filter(|found| found.path == "std" || found.path.starts_with("std::"));
        mentions.map(move |found| format!("{name}:{}: {}", found.line, found.path))
    });
    none("core uses `core` and `alloc`; `std` is for its tests", uses);
}

#[test]
fn no_file_is_named_after_nothing() {
    let names = texts().into_keys().filter(|name| {
        let stem = Path::new(name)
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        name.ends_with(".rs") && EMPTY_NAMES.contains(&stem)
    });
    none(
        "a file is named after what it holds, and `foo.rs` lies beside `foo/`: such a name gathers everything in the end",
        names,
    );
}

#[test]
fn no_source_file_is_long() {
    let long = shipped_sources()
        .into_iter()
        .filter(|(_, source)| source.shipped_lines() > 500);
    none(
        "a file above 500 lines without its tests wants splitting: it cannot be read in one sitting",
        long.map(|(name, source)| format!("{name}: {} lines", source.shipped_lines())),
    );
}

#[test]
fn every_source_file_says_first_what_it_is() {
    let is_headed = |source: &Source| {
        source
            .comments()
            .next()
            .is_some_and(|(_, line)| line.starts_with("//!"))
    };
    let bare = shipped_sources()
        .into_iter()
        .filter(|(_, source)| !is_headed(source));
    none(
        "a module header says what it is, what always holds, and what it does not do",
        bare.map(|(name, _)| name),
    );
}

#[test]
fn nothing_is_left_for_later() {
    let marks = ["TODO:", "TODO(", "FIXME:", "FIXME(", "XXX:"];
    let mut breaches = Vec::new();
    for (name, content) in texts()
        .into_iter()
        .filter(|(name, _)| name.ends_with(".rs"))
    {
        let source = Source::parse_all(&content);
        for (at, line) in source.code().lines().enumerate() {
            let found = ["#[ignore", "todo!", "unimplemented!"]
                .iter()
                .filter(|word| line.contains(**word));
            breaches.extend(found.map(|word| format!("{name}:{}: {word}", at + 1)));
        }
        for (line, comment) in source.comments() {
            let found = marks.iter().filter(|mark| comment.contains(**mark));
            breaches.extend(found.map(|mark| format!("{name}:{line}: {mark}")));
        }
    }
    none(
        "what is here is whole: a gap is an issue, not a comment or a test that never runs",
        breaches,
    );
}

#[test]
fn no_path_of_one_machine_is_written_down() {
    let folders = ["work", "root", "home", "Users"].map(|folder| format!("/{folder}/"));
    let mut breaches = Vec::new();
    for (name, content) in texts() {
        for (at, line) in content.lines().enumerate() {
            let absolute = |folder: &String| {
                let mut starts = line
                    .match_indices(folder.as_str())
                    .map(|(at, _)| &line[..at]);
                starts.any(|before| {
                    !before.ends_with(|c: char| c.is_alphanumeric() || "._-/}>*".contains(c))
                })
            };
            if folders.iter().any(absolute) {
                breaches.push(format!("{name}:{}: {}", at + 1, line.trim()));
            }
        }
    }
    none(
        "a path of one machine is wrong on every other one",
        breaches,
    );
}

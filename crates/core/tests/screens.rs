//! scratch
use pitcrew_core::screen::{Facts, Signature, judge};
use std::path::Path;
#[derive(serde::Deserialize)]
struct Half {
    screen: Signature,
}
#[test]
fn table() {
    let panes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/profiles/panes");
    let ansi = std::env::var("ANSI").is_ok();
    for dir in std::env::var("SCREENS").unwrap().split(':') {
        let mut clis: Vec<_> = std::fs::read_dir(dir)
            .unwrap()
            .flatten()
            .filter(|e| e.path().is_dir())
            .map(|e| e.path())
            .collect();
        clis.sort();
        for cli in clis {
            let name = cli
                .file_name()
                .unwrap()
                .to_string_lossy()
                .split('-')
                .next()
                .unwrap()
                .to_string();
            let half: Half = toml::from_str(
                &std::fs::read_to_string(panes.join(format!("{name}.toml"))).unwrap(),
            )
            .unwrap();
            let mut files: Vec<_> = std::fs::read_dir(&cli)
                .unwrap()
                .flatten()
                .map(|e| e.path())
                .filter(|p| p.extension().is_some_and(|e| e == "txt"))
                .collect();
            files.sort();
            for f in files {
                let mut facts =
                    Facts::from_capture(&String::from_utf8_lossy(&std::fs::read(&f).unwrap()));
                if ansi && let Ok(t) = std::fs::read(f.with_extension("ansi")) {
                    facts = facts.coloured(&String::from_utf8_lossy(&t));
                }
                let r = judge(&facts, &half.screen);
                println!(
                    "{name} {} | {} | {} | {:?}",
                    f.file_stem().unwrap().to_string_lossy(),
                    r.state.word(),
                    r.why,
                    r.composer
                );
            }
        }
    }
}

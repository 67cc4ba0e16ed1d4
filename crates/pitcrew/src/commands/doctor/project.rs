//! The project: where its root is and why, what its file system can, and who else may read its state.

use pitcrew_store::Project;
use pitcrew_store::local::Oddity;

use super::Findings;
use crate::context::Context;
use crate::halt::Halt;

/// Looks at the project.
pub(super) fn look(context: &Context<'_>, project: &Project, findings: &mut Findings) {
    let (root, why) = (project.root().display(), context.why_this_root());
    findings.good("root", format!("{root} ({why})"));
    match project.ground() {
        Ok(ground) => {
            let folder = ground.folder.display().to_string();
            let another = "put the project on another file system, or name one with --root";
            for (about, result) in [
                ("write", ground.writes),
                ("lock", ground.locks),
                ("sync", ground.syncs),
            ] {
                match result {
                    Ok(()) => findings.good(about, format!("works in {folder}")),
                    // A full disk or a mode that is wrong wants something else than another file system.
                    Err(failure) if about == "write" => findings.halted(about, &failure.into()),
                    Err(failure) => {
                        findings.bad(about, Halt::from(failure).message(), another);
                    }
                }
            }
        }
        Err(failure) => findings.halted("state", &failure.into()),
    }
    match project.oddities() {
        Ok(oddities) => modes(
            "state",
            &project.state_dir().display().to_string(),
            &oddities,
            findings,
        ),
        Err(failure) => findings.halted("state", &failure.into()),
    }
}

/// Says whether what belongs to the user is the user's alone.
pub(super) fn modes(about: &str, folder: &str, oddities: &[Oddity], findings: &mut Findings) {
    let open: Vec<String> = oddities
        .iter()
        .filter_map(|oddity| match oddity {
            Oddity::Open { path, mode } => Some(format!("{} ({mode:04o})", path.display())),
            _ => None,
        })
        .collect();
    match open.as_slice() {
        [] => findings.good(about, "private to the user where it exists"),
        [first, rest @ ..] => {
            let more = match rest.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let hint = format!("chmod -R go= {}", pitcrew_runtime::overlay::quoted(folder));
            findings.bad(about, format!("others may read {first}{more}"), hint);
        }
    }
}

//! `doctor --profiles`: the profiles of agents in panes, against what is installed here.
//!
//! A signature is right for the versions whose screens it was made of. Another version may look the same; where it does
//! not, its screens are judged unknown and nothing is typed.

use pitcrew_runtime::process::Environment as Inherited;
use pitcrew_runtime::profile::{PaneProfile, Probe, Profiles};
use pitcrew_runtime::tmux::{Socket, Tmux};
use pitcrew_store::Project;
use tokio::task::JoinHandle;

use super::Findings;
use super::programs::{Asker, Told, first_line, runtime, told};
use crate::context::Context;
use crate::profiles;

/// Looks at the pane profiles.
pub(super) fn look(context: &Context<'_>, project: &Project, findings: &mut Findings) {
    let loaded = profiles::load_panes(context.environment, project.root());
    for failure in loaded.unread {
        findings.halted("profiles", &failure.into());
    }
    for problem in loaded.profiles.problems() {
        let hint = "mend the file; every other profile works";
        findings.bad("profiles", problem.to_string(), hint);
    }
    let inherited = Inherited::all_of(context.environment.variables());
    match Tmux::new(Socket::Default, &inherited).version() {
        Ok(version) => findings.good("tmux", version),
        Err(error) => findings.bad("tmux", error.to_string(), "install tmux 3.2 or newer"),
    }
    let headless = profiles::load(context.environment, project.root()).profiles;
    let Some(runtime) = runtime(findings) else {
        return;
    };
    let asker = Asker::new(context);
    runtime.block_on(async {
        let ask = |profile| {
            let answer =
                probe(&headless, profile).map(|probe| asker.ask(program(profile), probe.args()));
            (profile, answer)
        };
        let asked: Vec<_> = loaded.profiles.iter().map(ask).collect();
        for (profile, answer) in asked {
            say(profile, &headless, answer, findings).await;
        }
    });
}

fn program(profile: &PaneProfile) -> &str {
    profile.pane.command.first().map_or("", String::as_str)
}

/// How the program is asked for its version: as the other half of the profile says.
fn probe<'a>(headless: &'a Profiles, profile: &PaneProfile) -> Option<Probe<'a>> {
    headless.get(&profile.name).ok()?.probe()
}

async fn say(
    profile: &PaneProfile,
    headless: &Profiles,
    answer: Option<JoinHandle<Told>>,
    findings: &mut Findings,
) {
    let about = format!("profile {}", profile.name);
    let program = program(profile);
    let measured = profile.measured.join(", ");
    let (Some(answer), Some(probe)) = (answer, probe(headless, profile)) else {
        return findings.good(
            &about,
            format!("{program}, which is not asked for its version"),
        );
    };
    match told(answer).await {
        Ok(said) => {
            let version = probe.read(&said).unwrap_or_else(|| first_line(&said));
            if profile.measured.contains(&version) {
                findings.good(
                    &about,
                    format!("{program} {version}, whose screens were seen"),
                );
            } else {
                findings.note(
                    &about,
                    format!("{program} {version}; the screens seen are of {measured}"),
                    "a screen that looks otherwise is unknown, and nothing is typed; `pitcrew pane capture` saves one",
                );
            }
        }
        Err(why) => findings.note(&about, why, "only members with this profile need it"),
    }
}

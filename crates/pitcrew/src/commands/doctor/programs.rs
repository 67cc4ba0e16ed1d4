//! Programs that members need: tmux for panes, and the agents' own, by the profiles that there are.
//!
//! Each program is asked for its version, all at once, under a time limit. That it starts and says so is all that is
//! proved here; whether it is logged in shows in its first turn.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pitcrew_runtime::clock::{Entropy, SystemClock, SystemEntropy};
use pitcrew_runtime::process::{
    Environment as Inherited, Group, How, Launch, Mark, SpawnError, Stream,
};
use pitcrew_runtime::profile::Profile;
use pitcrew_store::Project;
use tokio::task::JoinHandle;

use super::Findings;
use crate::context::Context;
use crate::halt::Halt;
use crate::profiles;

/// How long a program has for saying its version.
const PATIENCE: Duration = Duration::from_secs(15);

/// How much of what it says is kept, in bytes.
const ANSWER: usize = 4096;

/// Looks at the programs.
pub(super) fn look(context: &Context<'_>, project: &Project, findings: &mut Findings) {
    let loaded = profiles::load(context.environment, project.root());
    for failure in loaded.unread {
        findings.halted("profiles", &failure.into());
    }
    for problem in loaded.profiles.problems() {
        findings.bad(
            "profiles",
            problem.to_string(),
            "mend the file; every other profile works",
        );
    }
    let Some(runtime) = runtime(findings) else {
        return;
    };
    let asker = Asker::new(context);
    runtime.block_on(async {
        let tmux = asker.ask("tmux", &["-V".to_string()]);
        let mut asked = Vec::new();
        for profile in loaded.profiles.iter() {
            let probe = profile.probe();
            let answer = probe.map(|probe| asker.ask(probe.program(), probe.args()));
            asked.push((profile, answer));
        }
        for (profile, answer) in asked {
            say_agent(profile, answer, findings).await;
        }
        match told(tmux).await {
            Ok(said) => findings.good("tmux", first_line(&said)),
            Err(why) => findings.note(
                "tmux",
                why,
                "only members in panes need it; headless ones do not",
            ),
        }
    });
}

/// What programs are asked in; none, with a finding, when it cannot be had.
pub(super) fn runtime(findings: &mut Findings) -> Option<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => Some(runtime),
        Err(refused) => {
            let why = refused.to_string();
            let what = "start other programs";
            findings.halted("programs", &Halt::System { what, why });
            None
        }
    }
}

/// What a program printed of its version, or why there is nothing.
pub(super) type Told = Result<Vec<u8>, String>;

async fn say_agent(profile: &Profile, answer: Option<JoinHandle<Told>>, findings: &mut Findings) {
    let about = format!("profile {}", profile.name());
    let (Some(answer), Some(probe)) = (answer, profile.probe()) else {
        return findings.good(
            &about,
            format!("{}, which has no version", profile.program()),
        );
    };
    match told(answer).await {
        Ok(said) => {
            let version = probe.read(&said).unwrap_or_else(|| first_line(&said));
            let tried = match probe.measured() {
                Some(measured) if measured != version => format!(", tried with {measured}"),
                _ => String::new(),
            };
            findings.good(&about, format!("{} {version}{tried}", probe.program()));
        }
        Err(why) => findings.note(
            &about,
            why,
            "only members with this profile need it; install it and log in once",
        ),
    }
}

pub(super) async fn told(answer: JoinHandle<Told>) -> Told {
    answer
        .await
        .unwrap_or_else(|broken| Err(broken.to_string()))
}

pub(super) fn first_line(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    said.lines().next().unwrap_or_default().trim().to_string()
}

/// Asks programs for their versions.
pub(super) struct Asker {
    folder: PathBuf,
    environment: Inherited,
}

impl Asker {
    pub(super) fn new(context: &Context<'_>) -> Self {
        Self {
            folder: context.environment.cwd.clone(),
            environment: Inherited::all_of(context.environment.variables()),
        }
    }

    pub(super) fn ask(&self, program: &str, args: &[String]) -> JoinHandle<Told> {
        let (folder, environment) = (self.folder.clone(), self.environment.clone());
        let (program, args) = (program.to_string(), args.to_vec());
        tokio::spawn(async move {
            let id = SystemEntropy.id().map_err(|refused| refused.to_string())?;
            let mark = Mark::new(&id).map_err(|refused| refused.to_string())?;
            let launch = Launch::new(&program, folder, environment, mark)
                .args(&args)
                .limit(PATIENCE);
            let group =
                Group::spawn(launch, Arc::new(SystemClock)).map_err(|refused| match refused {
                    SpawnError::ProgramNotFound { .. } => format!("{program} is not on PATH"),
                    other => other.to_string(),
                })?;
            match group.ended().await.how {
                How::Exited(0) => Ok(group.tail(Stream::Stdout, ANSWER)),
                How::TimedOut { .. } => Err(format!("{program} said nothing in {PATIENCE:?}")),
                _ => Err(format!("`{program} {}` failed", args.join(" "))),
            }
        })
    }
}

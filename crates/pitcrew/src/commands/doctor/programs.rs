//! Programs that members need: tmux for panes, and the agents' own.

use std::sync::Arc;
use std::time::Duration;

use pitcrew_runtime::clock::{Entropy, SystemClock, SystemEntropy};
use pitcrew_runtime::process::{Environment as Inherited, Group, How, Launch, Mark, Stream};

use super::Findings;
use crate::context::Context;
use crate::halt::Halt;

/// How long a program has for saying its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// How much of what it says is kept, in bytes.
const ANSWER: usize = 4096;

/// Looks at the programs.
pub(super) fn look(context: &Context<'_>, findings: &mut Findings) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(refused) => {
            return findings.halted(
                "programs",
                &Halt::System {
                    what: "start other programs",
                    why: refused.to_string(),
                },
            );
        }
    };
    runtime.block_on(tmux(context, findings));
}

async fn tmux(context: &Context<'_>, findings: &mut Findings) {
    const NEEDED: &str = "only members in panes need it; headless ones do not";
    match version(context, "tmux", &["-V"]).await {
        Ok(version) => findings.good("tmux", version),
        Err(why) => findings.note("tmux", why, NEEDED),
    }
}

/// The first line of what a program says of its version, or why there is none.
async fn version(context: &Context<'_>, program: &str, args: &[&str]) -> Result<String, String> {
    let id = SystemEntropy.id().map_err(|refused| refused.to_string())?;
    let mark = Mark::new(&id).map_err(|refused| refused.to_string())?;
    let environment = Inherited::all_of(context.environment.variables());
    let launch = Launch::new(program, &context.environment.cwd, environment, mark)
        .args(args.iter().copied())
        .limit(PATIENCE);
    let group =
        Group::spawn(launch, Arc::new(SystemClock)).map_err(|refused| refused.to_string())?;
    let ended = group.ended().await;
    match ended.how {
        How::Exited(0) => {}
        How::TimedOut { .. } => return Err(format!("{program} said nothing in {PATIENCE:?}")),
        _ => return Err(format!("`{program} {}` failed", args.join(" "))),
    }
    let said = group.tail(Stream::Stdout, ANSWER);
    let said = String::from_utf8_lossy(&said);
    Ok(said.lines().next().unwrap_or_default().trim().to_string())
}

//! Plans the process of a turn and starts it: what is run, the files that it reads, and where what it prints is kept.
//!
//! What always holds: nothing that stood in the turn's folder before is taken for what this turn wrote. What cannot be
//! started is answered in words, and only failing files of the team are an error.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pitcrew_core::task::Task;

use super::super::outfit::Gear;
use super::super::output::{self, Seen};
use super::super::record::ProcessRecord;
use super::{Begun, Bench, Turn};
use crate::clock::{Clock, Entropy};
use crate::desk::NotDone;
use crate::process::{Cap, Capture, Group, Ladder, Launch, Mark};
use crate::profile::{SessionPlan, TurnInput, TurnPlan};

impl Bench<'_> {
    /// What is run, and the files that it reads; in words why not.
    pub(super) fn plan(
        &self,
        gear: &Gear,
        turn: &Turn,
        task: Option<&Task>,
        prompt: &str,
        folder: &Path,
    ) -> Result<Result<TurnPlan, String>, NotDone> {
        let fresh = self.tools.entropy.id()?;
        let input = TurnInput {
            prompt,
            session: match &turn.session {
                Some(session) => SessionPlan::Resume {
                    id: &session.session,
                },
                None => SessionPlan::Fresh { id: &fresh },
            },
            tools: gear.grant(),
            args: &gear.entry.args,
            script: match task {
                Some(task) => self
                    .entry(&task.id)
                    .and_then(|entry| entry.script.as_deref()),
                None => gear.entry.on_mail.as_deref(),
            },
            folder,
        };
        let plan = match gear.profile.plan_turn(&input) {
            Ok(plan) => plan,
            Err(refused) => return Ok(Err(refused.to_string())),
        };
        for (path, text) in &plan.files {
            if let Some(file) = path.file_name().and_then(std::ffi::OsStr::to_str) {
                turn.files.write(file, text)?;
            }
        }
        Ok(Ok(plan))
    }

    /// Starts the process of a planned turn, and writes it down.
    pub(super) fn launch_planned(
        &self,
        gear: &mut Gear,
        plan: TurnPlan,
        limit_ms: i64,
        mut record: ProcessRecord,
    ) -> Result<Begun, NotDone> {
        let Some(turn) = gear.turn.as_ref() else {
            return Ok(Begun::Nothing);
        };
        let (launch, outputs) = match self.launch(gear, turn, &plan, limit_ms)? {
            Ok(launch) => launch,
            Err(why) => return Ok(Begun::Failed(why)),
        };
        let spawned = Group::spawn(launch, Arc::clone(&self.tools.clock) as Arc<dyn Clock>);
        let claim_token = turn.claim.as_ref().map(|claim| claim.token.clone());
        if let Some(turn) = gear.turn.as_mut() {
            turn.plan = Some(plan);
            let [stdout, stderr] = outputs;
            (turn.stdout, turn.stderr) = (Some(stdout), Some(stderr));
        }
        let group = match spawned {
            Ok(group) => group,
            Err(refused) => return Ok(Begun::Crashed(refused.to_string())),
        };
        record.process = Some(group.identity().clone());
        record.claim_token = claim_token;
        if let Some(turn) = gear.turn.as_mut() {
            turn.group = Some(group);
        }
        self.write(gear.name(), &record)?;
        Ok(Begun::Running)
    }

    fn launch(
        &self,
        gear: &Gear,
        turn: &Turn,
        plan: &TurnPlan,
        limit_ms: i64,
    ) -> Result<Result<(Launch, [Seen; 2]), String>, NotDone> {
        let mark = match Mark::new(&turn.id) {
            Ok(mark) => mark.inside(self.outer_mark),
            Err(refused) => return Ok(Err(refused.to_string())),
        };
        let mut environment = gear.environment(&plan.env);
        if let Some(token) = &gear.token {
            environment = environment.set("PITCREW_TOKEN", token);
        }
        // An answer that stands there already is not this turn's.
        if let Some(file) = plan.answer_name() {
            turn.files.remove(file)?;
        }
        let (out, stdout) = output::fresh(&turn.files, "stdout")?;
        let (err, stderr) = output::fresh(&turn.files, "stderr")?;
        let launch = Launch::new(plan.program.clone(), &gear.folder, environment, mark)
            .args(plan.args.iter().cloned())
            .input(plan.stdin.clone())
            .ladder(Ladder {
                grace: self.grace,
                ..Ladder::default()
            })
            .limit(Duration::from_millis(u64::try_from(limit_ms).unwrap_or(0)))
            .stdout(Capture::to(out, Cap::default()))
            .stderr(Capture::to(err, Cap::default()));
        Ok(Ok((launch, [stdout, stderr])))
    }
}

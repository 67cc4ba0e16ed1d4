//! Every fact that there is: the closed list. See [`super`] for what an event is. A field that is added is an `Option`.
//! A row is a type as it is written, its topic and its fields; `declare` makes enum, text and schema of it. No type is taken away.

use alloc::string::String;
use alloc::vec::Vec;

use super::declare::facts;
use crate::claim::{EndCause, FilePath, Lines};
use crate::liveness::Wait;
use crate::mailbox::Intent;
use crate::name::Name;
use crate::price::Micros;
use crate::time::Timestamp;

facts! {
    /// The team was founded.
    TeamFounded = "team_founded" on Team {
        /// Its members.
        members: Vec<Name>,
        /// How many tasks it began with.
        tasks: u64,
    }
    /// The team was shut down; its files stay.
    TeamShutDown = "team_shut_down" on Team {}
    /// Every member was ended, or the team was removed with its files.
    TeamDissolved = "team_dissolved" on Team {}
    /// A member was added.
    MemberAdded = "member_added" on Team {
        /// The member.
        member: Name,
    }
    /// A member was removed; its mailbox stays readable.
    MemberRemoved = "member_removed" on Team {
        /// The member.
        member: Name,
    }
    /// A new incarnation of a member began: its earlier token is good no more.
    TokenIssued = "token_issued" on Team {
        /// The member.
        member: Name,
        /// The number of the incarnation.
        incarnation: u32,
    }
    /// A member's agent was started.
    AgentJoined = "agent_joined" on Team {
        /// The member.
        member: Name,
    }
    /// A member's agent finished or was stopped.
    AgentLeft = "agent_left" on Team {
        /// The member.
        member: Name,
        /// Why, in a few words.
        reason: Option<String>,
    }
    /// A member's agent ended in any other way.
    AgentCrashed = "agent_crashed" on Team {
        /// The member.
        member: Name,
        /// Why, in a few words.
        reason: String,
    }
    /// A member in a pane was started again, as a new incarnation.
    AgentRestarted = "agent_restarted" on Team {
        /// The member.
        member: Name,
        /// The number of the new incarnation.
        incarnation: u32,
        /// Who wanted it: `policy` or `request`.
        by: String,
    }
    /// A member in a pane is not started again by its policy any more.
    AgentFailed = "agent_failed" on Team {
        /// The member.
        member: Name,
        /// Why, in a few words.
        reason: String,
    }
    /// A run of the team began.
    RunStarted = "run_started" on Team {
        /// The run.
        run: String,
    }
    /// A run of the team ended.
    RunEnded = "run_ended" on Team {
        /// The run.
        run: String,
        /// How it ended, in a word.
        outcome: String,
    }
    /// A member's turn began.
    TurnStarted = "turn_started" on Team {
        /// The member.
        member: Name,
        /// Its number among the member's turns.
        turn: u32,
        /// The task that it is for.
        task: Option<String>,
    }
    /// A member's turn ended.
    TurnEnded = "turn_ended" on Team {
        /// The member.
        member: Name,
        /// Its number among the member's turns.
        turn: u32,
        /// The task that it was for.
        task: Option<String>,
        /// How it ended, in a word.
        outcome: String,
        /// How long it took, in milliseconds.
        elapsed_ms: u64,
    }
    /// A message reached everybody but its sender.
    BroadcastSent = "broadcast_sent" on Team {
        /// The sender.
        from: Name,
        /// Whose mailboxes it is in.
        recipients: Vec<Name>,
        /// Its ids, in the order of the recipients.
        ids: Vec<String>,
        /// The length of the body in bytes.
        length: u64,
        /// What the sender expects.
        intent: Option<Intent>,
    }
    /// A task was added.
    TaskAdded = "task_added" on Team {
        /// The task.
        task: String,
        /// Whose it is to be.
        assignee: Option<String>,
        /// The tasks that it waits for.
        blocked_by: Vec<String>,
    }
    /// A member took a task.
    TaskClaimed = "task_claimed" on Team {
        /// The task.
        task: String,
        /// The member.
        member: Name,
    }
    /// A task has a result so far.
    TaskProgressed = "task_progressed" on Team {
        /// The task.
        task: String,
        /// Whose it is.
        owner: Option<Name>,
    }
    /// A task was completed.
    TaskCompleted = "task_completed" on Team {
        /// The task.
        task: String,
        /// Who did it.
        owner: Option<Name>,
        /// The length of the result in bytes.
        length: u64,
    }
    /// A task failed.
    TaskFailed = "task_failed" on Team {
        /// The task.
        task: String,
        /// Who tried it.
        owner: Option<Name>,
        /// The length of the result in bytes.
        length: u64,
    }
    /// A task is pending again, because its owner gave it back.
    TaskReleased = "task_released" on Team {
        /// The task.
        task: String,
    }
    /// A task is pending again, because it was taken from its owner.
    TaskTakenBack = "task_taken_back" on Team {
        /// The task.
        task: String,
        /// Whose it was.
        owner: Option<Name>,
    }
    /// A failed task is pending again.
    TaskRetried = "task_retried" on Team {
        /// The task.
        task: String,
    }
    /// A pending task waits for one that failed.
    TaskBlocked = "task_blocked" on Team {
        /// The task.
        task: String,
        /// The task that failed.
        by: String,
    }
    /// A finding was shared.
    DiscoveryShared = "discovery_shared" on Team {
        /// Who found it.
        member: Name,
        /// What it is about.
        subject: String,
        /// The length of the finding in bytes.
        length: u64,
        /// The files and folders that it concerns.
        paths: Vec<FilePath>,
    }
    /// The limits were changed.
    LimitsSet = "limits_set" on Team {}
    /// A model call was refused.
    LimitDenied = "limit_denied" on Team {
        /// Whose.
        member: Name,
        /// The code of the refusal.
        code: String,
        /// The tokens that it asked for.
        tokens: u64,
        /// When it may be asked again, in milliseconds.
        retry_after_ms: Option<u64>,
    }
    /// What a model call used was booked.
    UsageRecorded = "usage_recorded" on Team {
        /// To whom.
        member: Name,
        /// The tokens.
        tokens: u64,
        /// The money.
        cost: Micros,
        /// The reservation that it settled.
        reservation: Option<u64>,
    }
    /// A reservation was given back, because its call was not made.
    ReservationReleased = "reservation_released" on Team {
        /// The reservation.
        reservation: u64,
        /// Who gave it back.
        member: Name,
    }
    /// Nobody settled a reservation in time; it was refunded.
    ReservationLapsed = "reservation_lapsed" on Team {
        /// The reservation.
        reservation: u64,
        /// Whose it was.
        member: Name,
    }
    /// A reservation ended with its member, refunded.
    ReservationDropped = "reservation_dropped" on Team {
        /// The reservation.
        reservation: u64,
        /// Whose it was.
        member: Name,
    }
    /// A member settled or gave back a reservation of another.
    ReservationSettledByAnother = "reservation_settled_by_another" on Team {
        /// The reservation.
        reservation: u64,
        /// Whose it was, and to whom it was booked.
        owner: Name,
        /// Who settled it.
        by: Name,
    }
    /// A reservation that had lapsed was settled after all.
    ReservationSettledLate = "reservation_settled_late" on Team {
        /// The reservation.
        reservation: u64,
        /// To whom it was booked.
        owner: Name,
    }
    /// A budget is spent.
    BudgetReached = "budget_reached" on Team {
        /// Whose; the team's when nobody is named.
        member: Option<Name>,
        /// What was spent.
        spent: Micros,
        /// The budget.
        budget: Micros,
    }
    /// A provider's limit pauses the whole team.
    TeamPaused = "team_paused" on Team {
        /// When it resets.
        until: Timestamp,
    }
    /// The pause is over.
    TeamResumed = "team_resumed" on Team {
        /// When it was to end.
        until: Timestamp,
    }
    /// The clock went back by more than a minute; what counts in a minute begins anew.
    ClockStepped = "clock_stepped" on Team {
        /// The latest instant seen before.
        before: Timestamp,
        /// The instant after.
        now: Timestamp,
    }
    /// The project's monitor began to watch the team: its idle panes are prompted while a loop mode is active.
    MonitorStarted = "monitor_started" on Team {}
    /// The project's monitor watches no longer.
    MonitorEnded = "monitor_ended" on Team {
        /// Why: `no_loop`, `no_live_team` or `asked`.
        reason: String,
    }
    /// Events before this one could not be written down; what they reported has happened.
    EventsLost = "events_lost" on Team {
        /// How many.
        count: u64,
    }
    /// Lines of a file are held.
    ClaimMade = "claim_made" on Context {
        /// The claim.
        claim: u64,
        /// Who holds them.
        member: Name,
        /// The file.
        file: FilePath,
        /// The lines.
        lines: Lines,
        /// Until when.
        until: Timestamp,
    }
    /// A claim lasts longer.
    ClaimRenewed = "claim_renewed" on Context {
        /// The claim.
        claim: u64,
        /// Whose it is.
        member: Name,
        /// The file.
        file: FilePath,
        /// The lines.
        lines: Lines,
        /// Until when.
        until: Timestamp,
    }
    /// Lines were refused, because others hold them or wait for them.
    ClaimRefused = "claim_refused" on Context {
        /// Who asked.
        member: Name,
        /// The file.
        file: FilePath,
        /// The lines.
        lines: Lines,
        /// The code of the refusal.
        code: String,
        /// Who holds some of them.
        holders: Vec<Name>,
    }
    /// A member stands in line for lines.
    ClaimWaiting = "claim_waiting" on Context {
        /// Its number in line, and that of the claim that it becomes.
        ticket: u64,
        /// The member.
        member: Name,
        /// The file.
        file: FilePath,
        /// The lines.
        lines: Lines,
        /// Whom it waits for.
        waits_for: Vec<Name>,
    }
    /// A wait for lines is over, and they are held.
    ClaimGranted = "claim_granted" on Context {
        /// The number in line.
        ticket: u64,
        /// The claim.
        claim: u64,
        /// Who holds them.
        member: Name,
        /// The file.
        file: FilePath,
        /// The lines.
        lines: Lines,
        /// Until when.
        until: Timestamp,
        /// How long it was waited for, in milliseconds.
        waited_ms: u64,
    }
    /// A wait for lines was given up.
    ClaimWaitEnded = "claim_wait_ended" on Context {
        /// The number in line.
        ticket: u64,
        /// Whose it was.
        member: Name,
        /// The file.
        file: FilePath,
        /// The lines.
        lines: Lines,
        /// Why.
        cause: EndCause,
    }
    /// Lines are held no longer.
    ClaimEnded = "claim_ended" on Context {
        /// The claim.
        claim: u64,
        /// Whose it was.
        member: Name,
        /// The file.
        file: FilePath,
        /// The lines that were given up.
        lines: Lines,
        /// Why.
        cause: EndCause,
    }
    /// A claim followed its lines.
    ClaimMoved = "claim_moved" on Context {
        /// The claim.
        claim: u64,
        /// Whose it is.
        member: Name,
        /// The file.
        file: FilePath,
        /// The lines now.
        lines: Lines,
        /// The lines before.
        before: Lines,
    }
    /// Findings are kept no longer.
    DiscoveriesEvicted = "discoveries_evicted" on Context {
        /// How many.
        count: u64,
    }
    /// A message is in a mailbox.
    MessageSent = "message_sent" on Agent(to) {
        /// Its id.
        id: String,
        /// The sender.
        from: Name,
        /// Whose mailbox.
        to: Name,
        /// The length of the body in bytes.
        length: u64,
        /// What the sender expects.
        intent: Option<Intent>,
        /// The message that it answers.
        reply_to: Option<String>,
    }
    /// Messages were acknowledged by whoever read them.
    MessagesAcknowledged = "messages_acknowledged" on Agent(member) {
        /// Whose mailbox.
        member: Name,
        /// Their ids.
        ids: Vec<String>,
    }
    /// A message was given up after too many deliveries that nobody acknowledged.
    MessageDeadLettered = "message_dead_lettered" on Agent(member) {
        /// Whose mailbox.
        member: Name,
        /// Its id.
        id: String,
        /// The sender.
        from: Option<Name>,
        /// How often it was delivered.
        attempts: u32,
    }
    /// A message that was given up is delivered again.
    MessageRedelivered = "message_redelivered" on Agent(member) {
        /// Whose mailbox.
        member: Name,
        /// Its id.
        id: String,
    }
    /// Two members, or a ring of them, write to each other and nothing else happens: their messages wake nobody now.
    ExchangeDamped = "exchange_damped" on Agent(from) {
        /// Who wrote.
        from: Name,
        /// To whom.
        to: Name,
        /// How often it answered without any progress.
        turns: u32,
    }
    /// A member waits for an answer, or in line for lines; blocked tasks and a paused team are events of their own.
    WaitBegan = "wait_began" on Agent(member) {
        /// The member.
        member: Name,
        /// Why.
        reason: Wait,
        /// For whom.
        on: Vec<Name>,
        /// The message, task or claim that it is about.
        about: Option<String>,
    }
    /// What a member waited for has come, or will not come any more.
    WaitOver = "wait_over" on Agent(member) {
        /// The member.
        member: Name,
        /// Why it waited.
        reason: Wait,
        /// The message, task or claim that it was about.
        about: Option<String>,
    }
    /// The monitor decided something else about a member than before, or did something.
    NudgeDecided = "nudge_decided" on Agent(member) {
        /// The member.
        member: Name,
        /// What led to it: `idle` or `sweep`.
        trigger: String,
        /// What was done: `prompted`, `queued`, `escalated`, `not_woken` or `nothing`.
        did: String,
        /// Why, as a code.
        reason: String,
        /// The evidence in words.
        why: Option<String>,
        /// The member's unread messages.
        unread: u64,
        /// For how long its pane was idle, in milliseconds.
        idle_ms: Option<i64>,
    }
}

//! The table of tools: each one defined here and nowhere else.

use std::fmt::Write;

use super::definition::{Effect, Kind, Need, Param, Tool};
use super::{findings, inbox, lines, messages, spending, work};

/// Any line of a file.
const LINE: Kind = Kind::Number(0, u64::MAX);

const TASK_ID: Param = Param::required("task_id", Kind::Text, "The task's id.");
const CLAIM_TOKEN: Param = Param::required(
    "claim_token",
    Kind::Text,
    "The token that claim_task answered for this task.",
);
const FILE: Param = Param::required(
    "file",
    Kind::Text,
    "The file: its path from the project's root, or absolute.",
);

/// Every tool, in the order in which they are offered.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "peer_message",
        about: "Send a message to one teammate, or to leader. It waits in their mailbox until they read it.",
        params: &[
            Param::required(
                "to",
                Kind::Text,
                "The teammate's name as list_team shows it, or leader.",
            ),
            Param::required("content", Kind::Text, "The text, at most 1 MiB."),
        ],
        effect: Effect::Adds,
        run: messages::peer_message,
    },
    Tool {
        name: "broadcast_message",
        about: "Send a message to every teammate and to leader, but not to yourself. For one reader use peer_message.",
        params: &[Param::required(
            "content",
            Kind::Text,
            "The text, at most 1 MiB.",
        )],
        effect: Effect::Adds,
        run: messages::broadcast_message,
    },
    Tool {
        name: "share_discovery",
        about: "Share a finding that others can use. Each teammate is shown it once; it asks nothing of anybody.",
        params: &[
            Param::required(
                "topic",
                Kind::Text,
                "What it is about, on one line of at most 200 bytes.",
            ),
            Param::required(
                "content",
                Kind::Text,
                "The finding, at most 64 KiB, with its source.",
            ),
        ],
        effect: Effect::Adds,
        run: findings::share_discovery,
    },
    Tool {
        name: "list_team",
        about: "List the members of the team: name, role, status, the tasks that each works on.",
        params: &[],
        effect: Effect::Reads,
        run: messages::list_team,
    },
    Tool {
        name: "claim_region",
        about: "Hold lines of a file for five minutes, so that no teammate edits them. Do this before you edit. Answers \
                claimed, or conflict with who holds them. A new claim takes the place of your other lines in that file.",
        params: &[
            FILE,
            Param::required("start_line", LINE, "The first line."),
            Param::required("end_line", LINE, "The last line, itself included."),
        ],
        effect: Effect::Settles,
        run: lines::claim_region,
    },
    Tool {
        name: "release_region",
        about: "Give back lines that you hold: of the whole file, or from start_line to end_line.",
        params: &[
            FILE,
            Param::optional(
                "start_line",
                LINE,
                "The first line; together with end_line.",
            ),
            Param::optional("end_line", LINE, "The last line, itself included."),
        ],
        effect: Effect::Settles,
        run: lines::release_region,
    },
    Tool {
        name: "list_claims",
        about: "List who holds which lines, and who waits for some.",
        params: &[Param::optional(
            "file",
            Kind::Text,
            "Only this file: its path from the project's root, or absolute.",
        )],
        effect: Effect::Reads,
        run: lines::list_claims,
    },
    Tool {
        name: "read_messages",
        about: "Read your new messages, oldest first. Each is yours for five minutes; say ack_message when you have used \
                it, or it comes again.",
        params: &[
            Param::optional(
                "limit",
                Kind::Number(1, 50),
                "The most messages to read; 10 if left out.",
            ),
            Param::optional(
                "wait_seconds",
                Kind::Number(0, 600),
                "If there is none, wait so long for one; 0 if left out.",
            ),
        ],
        effect: Effect::Adds,
        run: inbox::read_messages,
    },
    Tool {
        name: "ack_message",
        about: "Say that you have used messages, so that they do not come again.",
        params: &[Param::required(
            "message_ids",
            Kind::Texts(100),
            "The ids that read_messages gave.",
        )],
        effect: Effect::Settles,
        run: inbox::ack_message,
    },
    Tool {
        name: "read_discoveries",
        about: "Read the findings of teammates that you were not shown yet, first those that concern your tasks and files.",
        params: &[Param::optional(
            "limit",
            Kind::Number(1, 50),
            "The most findings to read; 10 if left out.",
        )],
        effect: Effect::Adds,
        run: findings::read_discoveries,
    },
    Tool {
        name: "claim_task",
        about: "Take a task: this one, or the next that is ready. Nobody else can have it then. Answers its text and the \
                claim_token with which you end it.",
        params: &[Param::optional(
            "task_id",
            Kind::Text,
            "The task's id; the next that is ready if left out.",
        )],
        effect: Effect::Adds,
        run: work::claim_task,
    },
    Tool {
        name: "complete_task",
        about: "End a task that you claimed and did.",
        params: &[
            TASK_ID,
            CLAIM_TOKEN,
            Param::required(
                "result",
                Kind::Text,
                "What came of it; tasks that wait for it are shown this.",
            ),
        ],
        effect: Effect::Settles,
        run: work::complete_task,
    },
    Tool {
        name: "fail_task",
        about: "End a task that you claimed and that cannot be done.",
        params: &[
            TASK_ID,
            CLAIM_TOKEN,
            Param::required("reason", Kind::Text, "Why it cannot be done."),
        ],
        effect: Effect::Settles,
        run: work::fail_task,
    },
    Tool {
        name: "list_tasks",
        about: "List the tasks: where each stands, who has it, what it waits for. With task_id, one task whole, with its \
                result.",
        params: &[Param::optional(
            "task_id",
            Kind::Text,
            "Only this task, whole.",
        )],
        effect: Effect::Reads,
        run: work::list_tasks,
    },
    Tool {
        name: "limit_status",
        about: "See what the team and you have spent, what is left, and whether the team is paused.",
        params: &[],
        effect: Effect::Reads,
        run: spending::limit_status,
    },
];

/// The table as documentation shows it.
#[must_use]
pub fn markdown() -> String {
    let mut page = "| tool | arguments | what it does |\n|---|---|---|\n".to_string();
    for tool in TOOLS {
        let params: Vec<String> = tool.params.iter().map(argument).collect();
        let params = match params.is_empty() {
            true => "none".to_string(),
            false => params.join("<br>"),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(page, "| `{}` | {params} | {} |", tool.name, tool.about);
    }
    page
}

fn argument(param: &Param) -> String {
    let need = match param.need {
        Need::Required => "",
        Need::Optional => ", optional",
    };
    format!(
        "`{}`: {}{need}. {}",
        param.name,
        param.kind.words(),
        param.about
    )
}

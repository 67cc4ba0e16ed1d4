//! A file of tasks: `[[tasks]]` tables as a team file has them, with what makes sense without a run.

use pitcrew_core::TaskId;
use pitcrew_runtime::desk::TaskPlan;
use serde::Deserialize;

use crate::halt::Halt;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    #[serde(default)]
    tasks: Vec<TaskTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskTable {
    #[serde(default)]
    id: Option<String>,
    description: String,
    #[serde(default, rename = "for")]
    assignee: Option<String>,
    #[serde(default)]
    blocked_by: Vec<String>,
}

/// The tasks in `text`, which was read from `file`.
pub(in crate::commands::team) fn read(text: &str, file: &str) -> Result<Vec<TaskPlan>, Halt> {
    let read: TaskFile = toml::from_str(text).map_err(|refused| Halt::Input {
        what: file.to_string(),
        why: refused.to_string().trim_end().to_string(),
    })?;
    read.tasks.into_iter().map(plan).collect()
}

fn plan(table: TaskTable) -> Result<TaskPlan, Halt> {
    let blocked_by = table.blocked_by.iter().map(|id| TaskId::new(id));
    Ok(TaskPlan {
        id: table.id.as_deref().map(TaskId::new).transpose()?,
        blocked_by: blocked_by.collect::<Result<_, _>>()?,
        description: table.description,
        assignee: table.assignee,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_a_task() {
        let text = "[[tasks]]\nid = 'a'\ndescription = 'x'\n[[tasks]]\ndescription = 'y'\nfor = 'ann'\nblocked_by = ['a']\n";
        let tasks = read(text, "t.toml").unwrap();
        assert_eq!(tasks.len(), 2);
        assert_eq!(tasks[0].id, Some(TaskId::new("a").unwrap()));
        assert_eq!(tasks[1].blocked_by, [TaskId::new("a").unwrap()]);
        assert_eq!(tasks[1].assignee.as_deref(), Some("ann"));
    }

    #[test]
    fn a_wrong_word_is_shown_with_its_line() {
        let Err(Halt::Input { what, why }) = read("[[tasks]]\ndescripton = 'x'\n", "t.toml") else {
            panic!("a wrong word was taken")
        };
        assert_eq!(what, "t.toml");
        assert!(
            why.contains("line 2") && why.contains("descripton"),
            "{why}"
        );
    }
}

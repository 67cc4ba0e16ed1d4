//! C3, C4, C8: what forbids every key.

use crate::yard::{reason, yard};

#[test]
fn c3_a_dialog_and_a_limit_get_no_key_and_the_mail_goes_out_once_they_are_closed() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("w1", &[]);
    for (order, code) in [("dialog", "dialog"), ("limit", "limit"), ("busy", "busy")] {
        fake.order(order);
        yard.settled(&fake);
        assert_eq!(reason(&yard.submit(&fake, "You have 1 new message")), code);
        assert_eq!(fake.bytes(), "", "{order}");
        fake.order("close");
        fake.order("idle");
        fake.order("reset");
    }
    yard.settled(&fake);
    assert_eq!(
        yard.submit(&fake, "You have 1 new message").word(),
        "submitted"
    );
    assert_eq!(fake.count("taken You have 1 new message"), 1);
}

#[test]
fn c3_a_trust_question_at_the_start_gets_no_key() {
    let Some(yard) = yard() else { return };
    for skin in ["claude", "codex", "copilot", "gemini", "opencode", "qwen"] {
        let fake = yard.ready(skin, &["--skin", skin, "--trust"]);
        assert_eq!(reason(&yard.submit(&fake, "hello")), "dialog", "{skin}");
        assert_eq!(fake.bytes(), "", "{skin}");
    }
}

#[test]
fn c4_a_human_draft_stays_as_it_is() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("w1", &[]);
    fake.order("type half a thought");
    yard.settled(&fake);
    assert_eq!(reason(&yard.submit(&fake, "hello")), "draft");
    assert_eq!(fake.bytes(), "");
}

#[test]
fn c4_copy_mode_gets_no_key_and_is_not_left() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("w1", &[]);
    yard.raw(&["copy-mode", "-t", &fake.pane.pane_id]);
    assert_eq!(reason(&yard.submit(&fake, "hello")), "in_copy_mode");
    assert_eq!(fake.bytes(), "");
    let mode = yard.raw(&[
        "display-message",
        "-p",
        "-t",
        &fake.pane.pane_id,
        "#{pane_in_mode}",
    ]);
    assert_eq!(mode, "1");
}

#[test]
fn c4_an_agent_that_has_exited_gets_no_key() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("w1", &[]);
    fake.order("exit 3");
    // tmux may see the terminal close before the end of the process, and then some versions never tell its status.
    let status = crate::yard::until("a dead pane", || {
        let panes = yard.tmux.panes().unwrap();
        let dead = panes.iter().find(|pane| pane.is_dead)?;
        Some(dead.exit_status)
    });
    assert!(matches!(status, None | Some(3)), "{status:?}");
    assert_eq!(reason(&yard.submit(&fake, "hello")), "exited");
}

#[test]
fn c4_a_shell_where_the_agent_was_gets_nothing_typed() {
    let Some(yard) = yard() else { return };
    let (seat, file) = yard.seat("w1");
    let size = pitcrew_runtime::tmux::Size::default();
    let opening = pitcrew_runtime::tmux::Opening::Session { name: "w1", size };
    let pane = yard.tmux.open(opening, &[seat]).unwrap().remove(0);
    let entry = pitcrew_runtime::tmux::Entry {
        set: vec![("PS1".into(), "$ ".into())],
        command: ["sh", "-i"].map(Into::into).into(),
        ..Default::default()
    };
    crate::yard::write_private(&file, &entry.to_bytes());
    crate::yard::until("a prompt", || {
        let look = yard.tmux.look(&[&pane]).unwrap().remove(0);
        look.facts
            .rows
            .iter()
            .any(|row| row.text.starts_with('$'))
            .then_some(())
    });
    let plan = crate::yard::profile("claude").plan("touch typed").unwrap();
    let outcome = pitcrew_runtime::tmux::submit(&mut (&yard.tmux, &pane), plan);
    assert_eq!(reason(&outcome), "bare_shell");
    let shown = yard.raw(&["capture-pane", "-p", "-t", &pane.pane_id]);
    assert!(!shown.contains("touch"), "{shown}");
}

#[test]
fn c8_old_words_in_the_scrollback_and_unknown_screens_are_judged_on_what_is_seen() {
    let Some(yard) = yard() else { return };
    let mut switches: Vec<String> = Vec::new();
    switches.extend(["--before".into(), "  esc to interrupt".into()]);
    for at in 0..60 {
        switches.extend(["--before".into(), format!("row {at}")]);
    }
    let switches: Vec<&str> = switches.iter().map(String::as_str).collect();
    let fake = yard.ready("w1", &switches);
    assert_eq!(yard.submit(&fake, "hello there").word(), "submitted");
    // Another program's screen: nobody can tell.
    let plan = crate::yard::profile("codex").plan("hello").unwrap();
    crate::yard::until("the end of the turn", || {
        (yard.state(&fake).word() == "ready").then_some(())
    });
    let outcome = pitcrew_runtime::tmux::submit(&mut (&yard.tmux, &fake.pane), plan);
    assert_eq!(reason(&outcome), "cannot_tell");
}

//! What a first process leaves behind: children that outlive it, in its group, out of it, and in hiding.

use super::*;

#[tokio::test]
async fn children_that_outlive_the_first_process_are_ended_and_counted() {
    let mark = fresh_mark();
    let folder = tempfile::tempdir().unwrap();
    let script = "mkfifo up; exec 3<>up; stray='echo up >&3; exec sleep 1000'; \
                  sh -c \"$stray\" & (sh -c \"$stray\" &) ; \
                  setsid sh -c \"$stray\" & (setsid sh -c \"$stray\" &) ; \
                  read up <&3; read up <&3; read up <&3; read up <&3; exit 0";
    let environment = Environment::empty().set("PATH", PATH);
    let launch = Launch::new("sh", folder.path(), environment, mark.clone());
    let group = start(launch.args(["-c", script]));
    let ended = ended_for_good(&group, &mark).await;
    assert_eq!(ended.how, How::Exited(0));
    assert_eq!(
        ended.leftovers,
        Leftovers {
            killed: 4,
            remaining: 0
        }
    );
    assert_eq!(ended.streams, Streams::Closed);
}

#[tokio::test]
async fn a_program_that_keeps_forking_is_ended() {
    let mark = fresh_mark();
    let script = "trap '' TERM; while :; do setsid sleep 1000 & echo x; done";
    let group = start(with_grace(shell(script, &mark), SHORT));
    group.printed_beyond(Stream::Stdout, 20).await;
    group.stop();
    let ended = ended_for_good(&group, &mark).await;
    assert!(ended.leftovers.killed >= 10, "{ended:?}");
    assert_eq!(ended.leftovers.remaining, 0);
}

#[tokio::test]
async fn a_child_without_a_mark_is_found_through_its_session_or_its_parent() {
    let mark = fresh_mark();
    // One stays in the session and loses its parent, one makes a session of its own and keeps its parent.
    let script = "(env -i /bin/sleep 1000 & echo $!) ; env -i /usr/bin/setsid /bin/sleep 1000 & \
                  echo $!; wait";
    let group = start(shell(script, &mark));
    group.printed_beyond(Stream::Stdout, 3).await;
    let pids = loop {
        let text = printed(&group);
        let pids: Vec<Identity> = text
            .lines()
            .filter_map(|line| Identity::of(line.parse().unwrap()))
            .collect();
        if pids.len() == 2 && text.ends_with('\n') {
            break pids;
        }
        tokio::task::yield_now().await;
    };
    for pid in &pids {
        let environ = format!("/proc/{}/environ", pid.pid);
        while !fs::read(&environ).unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    }
    group.kill();
    let ended = ended_for_good(&group, &mark).await;
    assert_eq!(ended.leftovers.remaining, 0);
    for pid in pids {
        assert_eq!(pid.presence(), Presence::Gone);
    }
}

#[tokio::test]
async fn what_hides_in_every_way_is_found_by_the_output_that_it_holds() {
    let mark = fresh_mark();
    let script = "exec 3>&1; hidden=$(env -i /usr/bin/setsid /bin/sleep 1000 >&3 & echo $!); \
                  while [ $(cat /proc/$hidden/comm) != sleep ]; do :; done; echo $hidden";
    let group = start(shell(script, &mark));
    let hidden = first_line(&group).await;
    let hidden = Identity::of(hidden.parse().unwrap()).unwrap();
    let ended = ended_for_good(&group, &mark).await;
    assert_eq!(ended.how, How::Exited(0));
    assert_eq!(ended.streams, Streams::Closed);
    assert_eq!((ended.leftovers.killed, ended.leftovers.remaining), (1, 0));
    assert_eq!(hidden.presence(), Presence::Gone);
}

#[tokio::test]
async fn an_output_that_an_older_process_holds_is_reported_and_nobody_is_ended_for_it() {
    let mark = fresh_mark();
    let group = start(shell("echo ready; exec sleep 1000", &mark));
    first_line(&group).await;
    let path = format!("/proc/{}/fd/1", group.identity().pid);
    let held = fs::File::options().write(true).open(path).unwrap();
    group.kill();
    let ended = ended_for_good(&group, &mark).await;
    assert_eq!(ended.streams, Streams::StillHeld);
    drop(held);
}

#[tokio::test]
async fn the_end_of_an_outer_turn_reaches_into_the_turns_inside_it() {
    let outer = fresh_mark();
    let inner = fresh_mark();
    let chain = format!("{}/{}", outer.turn(), inner.turn());
    let script = format!("(PITCREW_TURN={chain} setsid sleep 1000 & echo $!) ; sleep 1000");
    let group = start(shell(&script, &outer));
    first_line(&group).await;
    group.kill();
    ended_for_good(&group, &outer).await;
    assert_nothing_runs(&inner);
}

#[tokio::test]
async fn a_neighbour_in_another_turn_is_left_alone() {
    let (mark, other) = (fresh_mark(), fresh_mark());
    let neighbour = start(shell("echo ready; exec sleep 1000", &other));
    first_line(&neighbour).await;
    let group = start(shell("sleep 1000 & exit 0", &mark));
    ended_for_good(&group, &mark).await;
    assert_eq!(neighbour.identity().presence(), Presence::Alive);
    assert_eq!(neighbour.observe().stage, Stage::Running);
}

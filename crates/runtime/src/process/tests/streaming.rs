//! Input that is not read, output without end, and files that take it.

use super::*;
use std::os::unix::fs::FileExt;

const MEBI: usize = 1 << 20;

fn content(file: &fs::File) -> Vec<u8> {
    let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
    let mut content = vec![0; length];
    file.read_exact_at(&mut content, 0).unwrap();
    content
}

#[tokio::test]
async fn a_hundred_megabytes_of_output_leave_a_file_within_its_cap() {
    let mark = fresh_mark();
    let file = tempfile::tempfile().unwrap();
    let cap = Cap {
        head: MEBI as u64,
        tail: MEBI,
    };
    let script = "echo first; head -c 104857600 /dev/zero; echo last";
    let capture = Capture::to(file.try_clone().unwrap(), cap);
    let group = start(shell(script, &mark).stdout(capture));
    let ended = ended_for_good(&group, &mark).await;
    assert_eq!(ended.how, How::Exited(0));
    assert_eq!(ended.stdout.printed, 104_857_600 + 6 + 5);
    assert_eq!(ended.stdout.failure, None);
    let content = content(&file);
    assert!(content.len() <= 3 * MEBI + 100, "{}", content.len());
    assert!(content.starts_with(b"first\n\0\0"));
    assert!(content.ends_with(b"\0\0last\n"));
    let tail = group.tail(Stream::Stdout, usize::MAX);
    assert_eq!(tail.len(), MEBI);
    assert!(tail.ends_with(b"last\n"));
    let notice = format!(
        "\n[pitcrew: {} bytes left out here]\n",
        ended.stdout.left_out
    );
    assert_eq!(&content[MEBI..MEBI + notice.len()], notice.as_bytes());
    assert_eq!(
        content.len() - notice.len() + usize::try_from(ended.stdout.left_out).unwrap(),
        usize::try_from(ended.stdout.printed).unwrap()
    );
}

#[tokio::test]
async fn both_streams_are_kept_apart_and_whole() {
    let mark = fresh_mark();
    let (out, err) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    let script = "i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo out $i; echo err $i >&2; done";
    let group = start(
        shell(script, &mark)
            .stdout(Capture::to(out.try_clone().unwrap(), Cap::default()))
            .stderr(Capture::to(err.try_clone().unwrap(), Cap::default())),
    );
    ended_for_good(&group, &mark).await;
    let lines = |word: &str| -> String {
        (1..=300)
            .map(|number| format!("{word} {number}\n"))
            .collect()
    };
    assert_eq!(content(&out), lines("out").into_bytes());
    assert_eq!(content(&err), lines("err").into_bytes());
    assert_eq!(group.tail(Stream::Stderr, 8), b"err 300\n");
}

#[tokio::test]
async fn ten_megabytes_of_input_reach_a_process_that_reads_them() {
    let mark = fresh_mark();
    let group = start(
        launch("wc", &mark)
            .args(["-c"])
            .input(Input::Bytes(vec![b'x'; 10 * MEBI])),
    );
    let ended = ended_for_good(&group, &mark).await;
    assert_eq!(printed(&group).trim(), (10 * MEBI).to_string());
    assert_eq!(ended.input_left, 0);
}

#[tokio::test]
async fn a_process_that_does_not_read_its_input_blocks_nobody() {
    let mark = fresh_mark();
    let input = || Input::Bytes(vec![b'x'; 10 * MEBI]);
    let leaves = start(shell("exit 4", &mark).input(input()));
    let ended = ended_for_good(&leaves, &mark).await;
    assert_eq!(ended.how, How::Exited(4));
    assert!(ended.input_left > 9 * MEBI as u64);

    let stays = start(shell("echo ready; exec sleep 1000", &mark).input(input()));
    first_line(&stays).await;
    stays.stop();
    let ended = ended_for_good(&stays, &mark).await;
    assert_eq!(ended.how, How::Stopped { by: By::Ask });
    assert!(ended.input_left > 9 * MEBI as u64);
}

#[tokio::test]
async fn a_process_that_closes_its_input_early_and_goes_on_is_no_error() {
    let mark = fresh_mark();
    let script = "read line; exec <&-; echo $line; exit 0";
    let bytes = [b"hello\n".to_vec(), vec![b'x'; MEBI]].concat();
    let group = start(shell(script, &mark).input(Input::Bytes(bytes)));
    let ended = ended_for_good(&group, &mark).await;
    assert_eq!(ended.how, How::Exited(0));
    assert_eq!(printed(&group), "hello\n");
}

#[tokio::test]
async fn without_input_a_process_reads_end_of_file() {
    let mark = fresh_mark();
    let group = start(launch("cat", &mark));
    assert!(ended_for_good(&group, &mark).await.is_success());
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_reported_and_the_process_runs_on() {
    let mark = fresh_mark();
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let script = "i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo line $i; done; exit 6";
    let group = start(shell(script, &mark).stdout(Capture::to(full, Cap::default())));
    let ended = ended_for_good(&group, &mark).await;
    assert_eq!(ended.how, How::Exited(6));
    assert!(ended.stdout.failure.is_some());
    assert!(printed(&group).ends_with("line 200\n"));
}

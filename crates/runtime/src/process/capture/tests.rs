//! Every output is compared with what a reader would expect to find of it.

use super::*;
use proptest::prelude::*;

fn buffer() -> Arc<Mutex<Vec<u8>>> {
    Arc::default()
}

fn content(buffer: &Arc<Mutex<Vec<u8>>>) -> Vec<u8> {
    buffer.lock().unwrap().clone()
}

fn check(cap: Cap, chunks: &[Vec<u8>]) {
    let sink = buffer();
    let mut recorder = Recorder::new(Capture::to(Arc::clone(&sink), cap));
    let mut printed = Vec::new();
    for chunk in chunks {
        recorder.take(chunk);
        printed.extend_from_slice(chunk);
        let kept = recorder.kept();
        assert_eq!(kept.printed, printed.len() as u64);
        assert_eq!(
            recorder.tail(usize::MAX),
            &printed[printed.len().saturating_sub(cap.tail)..]
        );
        let content = content(&sink);
        if kept.left_out == 0 {
            assert_eq!(content, printed);
            continue;
        }
        let notice = notice(kept.left_out);
        let head = usize::try_from(cap.head).unwrap();
        assert!(content.len() <= head + notice.len() + 2 * cap.tail);
        assert_eq!(&content[..head], &printed[..head]);
        let rest = content[head..].strip_prefix(notice.as_bytes()).unwrap();
        assert!(printed.ends_with(rest));
        assert!(rest.len() >= cap.tail.min(printed.len()));
        assert_eq!(
            kept.left_out as usize + head + rest.len(),
            printed.len(),
            "the notice counts exactly what is missing"
        );
    }
}

proptest! {
    #[test]
    fn whatever_is_printed_head_and_tail_are_kept_and_the_gap_is_counted(
        head in 0_u64..40,
        tail in 0_usize..40,
        chunks in proptest::collection::vec(
            proptest::collection::vec(any::<u8>(), 0..60), 0..30),
    ) {
        check(Cap { head, tail }, &chunks);
    }
}

#[test]
fn output_that_fits_is_kept_byte_for_byte() {
    check(
        Cap { head: 4, tail: 2 },
        &[b"ab".to_vec(), b"cdef".to_vec(), b"gh".to_vec()],
    );
}

struct FullDisk {
    room: u64,
}

impl Sink for FullDisk {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if offset + bytes.len() as u64 > self.room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn truncate(&mut self, _length: u64) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported_and_the_tail_goes_on() {
    let mut recorder = Recorder::new(Capture::to(FullDisk { room: 8 }, Cap::default()));
    recorder.take(b"12345678");
    assert_eq!(recorder.kept().failure, None);
    recorder.take(b"9");
    recorder.take(b"0");
    let kept = recorder.kept();
    assert!(kept.failure.is_some());
    assert_eq!(kept.printed, 10);
    assert_eq!(recorder.tail(3), b"890");
}

#[test]
fn a_listener_hears_everything_that_is_left_out_too() {
    let heard = buffer();
    let ear = Arc::clone(&heard);
    let capture =
        Capture::tail_only(2).heard_by(move |bytes| ear.lock().unwrap().extend_from_slice(bytes));
    let mut recorder = Recorder::new(capture);
    for chunk in [b"abc", b"def", b"ghi"] {
        recorder.take(chunk);
    }
    assert_eq!(content(&heard), b"abcdefghi");
    assert_eq!(recorder.tail(9), b"hi");
}

#[test]
fn a_file_holds_the_same_as_a_buffer() {
    let file = tempfile::tempfile().unwrap();
    let cap = Cap { head: 10, tail: 5 };
    let sink = buffer();
    let mut in_file = Recorder::new(Capture::to(file.try_clone().unwrap(), cap));
    let mut in_memory = Recorder::new(Capture::to(Arc::clone(&sink), cap));
    for number in 0_u32..50 {
        let line = format!("{number}\n");
        in_file.take(line.as_bytes());
        in_memory.take(line.as_bytes());
    }
    let length = file.metadata().unwrap().len();
    let mut content_of_file = vec![0; usize::try_from(length).unwrap()];
    file.read_exact_at(&mut content_of_file, 0).unwrap();
    assert_eq!(content_of_file, content(&sink));
}

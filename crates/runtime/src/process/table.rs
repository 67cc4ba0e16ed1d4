//! Reads the kernel's process table: one stat line, one start environment, the list of pids.
//!
//! This is observation of processes, which is why it reads files under `/proc` here and not in `store`. A system
//! without that folder, or with one of another form, is answered with "cannot tell": every reader of this module
//! has to have an answer for that. Nothing is cached, because every fact here is old the moment it is read; what
//! makes a fact lasting is the start time that comes with each stat line.
//!
//! Not here: signals, and any opinion about which processes matter.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What one stat line says about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: u32,
    /// The kernel's state letter: `Z` is ended and not yet collected, `X` is going.
    pub(crate) state: u8,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    /// The process group in the foreground of its terminal; 0 or less when it has none.
    pub(crate) foreground: i32,
    pub(crate) threads: u32,
    /// Clock ticks between boot and the start of the process.
    pub(crate) start_time: u64,
}

impl Stat {
    /// Whether the process still runs code. A zombie is an exit status, not a process, unless only its first
    /// thread has ended and others go on.
    pub(crate) fn runs(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x') || self.threads > 1
    }
}

/// One file, told from every other: its device and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileKey(u64, u64);

impl FileKey {
    /// The file at `path`, at the end of every link.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self(found.dev(), found.ino()))
    }
}

/// What was found under one pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Found(Stat),
    /// The table works and has no such pid.
    Absent,
    /// There is no table, or not one that we can read.
    Unreadable,
}

/// The process table of one machine.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    root: PathBuf,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            root: PathBuf::from("/proc"),
        }
    }
}

impl Table {
    /// A table in another folder, for tests.
    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
        }
    }

    /// Whether this machine has a table of the form that we read.
    pub(crate) fn works(&self) -> bool {
        read_line(&self.root.join("self/stat"))
            .ok()
            .and_then(|line| parse_stat(&line))
            .is_some()
    }

    pub(crate) fn entry(&self, pid: u32) -> Entry {
        match read_line(&self.root.join(pid.to_string()).join("stat")) {
            Ok(line) => parse_stat(&line).map_or(Entry::Unreadable, Entry::Found),
            Err(error) if is_absence(&error) && self.works() => Entry::Absent,
            Err(_) => Entry::Unreadable,
        }
    }

    /// Every process, or nothing when there is no table. A process that ends while we read is left out.
    pub(crate) fn all(&self) -> io::Result<Vec<Stat>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let Some(pid) = entry?
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<u32>().ok())
            else {
                continue;
            };
            if let Entry::Found(stat) = self.entry_unchecked(pid) {
                found.push(stat);
            }
        }
        if found.is_empty() {
            return Err(io::Error::other("the process table is empty"));
        }
        Ok(found)
    }

    /// The environment with which the process was started, as NUL-separated bytes. Empty for a zombie, for a
    /// kernel thread, and for an instant in the middle of `exec`.
    pub(crate) fn environment(&self, pid: u32) -> io::Result<Vec<u8>> {
        fs::read(self.root.join(pid.to_string()).join("environ"))
    }

    /// The command line of a process, word by word; empty for a zombie and for a kernel thread.
    pub(crate) fn command_line(&self, pid: u32) -> io::Result<Vec<Vec<u8>>> {
        let text = fs::read(self.root.join(pid.to_string()).join("cmdline"))?;
        let words = text.strip_suffix(b"\0").unwrap_or(&text);
        Ok(words.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect())
    }

    /// Which file a process runs, however that is called by now. `None` where we may not look.
    pub(crate) fn program(&self, pid: u32) -> Option<FileKey> {
        FileKey::at(&self.root.join(pid.to_string()).join("exe"))
    }

    /// Whether a process is a child of ours on its way to another program: between `fork` and `exec` it is a copy of this
    /// program and holds all that we hold, pipes of other turns among it.
    pub(crate) fn is_being_started(&self, stat: &Stat) -> bool {
        let own = std::process::id();
        let words = |pid| self.command_line(pid).ok();
        stat.parent == own
            && self
                .program(own)
                .is_some_and(|ours| self.program(stat.pid) == Some(ours))
            && words(own).is_some_and(|ours| words(stat.pid) == Some(ours))
    }

    /// Which file a process has as its standard input. `None` where we may not look.
    pub(crate) fn standard_input(&self, pid: u32) -> Option<FileKey> {
        FileKey::at(&self.root.join(pid.to_string()).join("fd/0"))
    }

    /// Names this boot of this machine.
    pub(crate) fn boot_id(&self) -> Option<String> {
        let text = fs::read_to_string(self.root.join("sys/kernel/random/boot_id")).ok()?;
        Some(text.trim().to_owned()).filter(|id| !id.is_empty())
    }

    /// Names the set of pids that we see: a container or a sandbox has its own.
    pub(crate) fn pid_namespace(&self) -> Option<u64> {
        let link = fs::read_link(self.root.join("self/ns/pid")).ok()?;
        let digits = link
            .to_str()?
            .strip_prefix("pid:[")?
            .strip_suffix(']')?
            .to_owned();
        digits.parse().ok()
    }

    /// What the open files of a process are called, such as `pipe:[4711]`. Empty where we may not look.
    pub(crate) fn open_files(&self, pid: u32) -> Vec<PathBuf> {
        let files = fs::read_dir(self.root.join(pid.to_string()).join("fd"));
        let files = files.into_iter().flatten().flatten();
        files
            .filter_map(|file| fs::read_link(file.path()).ok())
            .collect()
    }

    /// What one of our own open files is called.
    pub(crate) fn own_file(&self, descriptor: i32) -> Option<PathBuf> {
        fs::read_link(self.root.join("self/fd").join(descriptor.to_string())).ok()
    }

    /// The signals that `pid` ignores, as the kernel's bit mask (bit 0 is signal 1).
    pub(crate) fn ignored_signals(&self, pid: u32) -> Option<u64> {
        let status = fs::read_to_string(self.root.join(pid.to_string()).join("status")).ok()?;
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    }

    fn entry_unchecked(&self, pid: u32) -> Entry {
        read_line(&self.root.join(pid.to_string()).join("stat"))
            .ok()
            .and_then(|line| parse_stat(&line))
            .map_or(Entry::Absent, Entry::Found)
    }
}

/// One read, so that the line is of one instant.
fn read_line(path: &Path) -> io::Result<Vec<u8>> {
    let mut line = vec![0; 4096];
    let length = fs::File::open(path)?.read(&mut line)?;
    line.truncate(length);
    Ok(line)
}

fn is_absence(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

/// `pid (name) state parent group session …`, with the start time in field 22. The name may hold blanks,
/// newlines and parentheses, so the fields are counted from the last `)`.
fn parse_stat(line: &[u8]) -> Option<Stat> {
    let open = line.iter().position(|byte| *byte == b'(')?;
    let close = line.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(&line[..open])
        .ok()?
        .trim()
        .parse()
        .ok()?;
    let mut fields = std::str::from_utf8(line.get(close + 1..)?)
        .ok()?
        .split_ascii_whitespace();
    let state = fields.next()?.bytes().next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    let foreground = fields.nth(1)?.parse().ok()?;
    const BETWEEN_FOREGROUND_AND_THREADS: usize = 20 - 8 - 1;
    const BETWEEN_THREADS_AND_START: usize = 22 - 20 - 1;
    let threads = fields.nth(BETWEEN_FOREGROUND_AND_THREADS)?.parse().ok()?;
    let start_time = fields.nth(BETWEEN_THREADS_AND_START)?.parse().ok()?;
    Some(Stat {
        pid,
        state,
        parent,
        group,
        session,
        foreground,
        threads,
        start_time,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str) -> Vec<u8> {
        format!(
            "4242 ({name}) S 17 4242 99 34816 4242 4194304 140 0 0 0 1 2 0 0 20 0 1 0 987654321 1000 2 184"
        )
        .into_bytes()
    }

    const EXPECTED: Stat = Stat {
        pid: 4242,
        state: b'S',
        parent: 17,
        group: 4242,
        session: 99,
        foreground: 4242,
        threads: 1,
        start_time: 987_654_321,
    };

    #[test]
    fn a_name_with_blanks_parentheses_and_newlines_shifts_no_field() {
        for name in [
            "sh",
            "tmux: server",
            "a) R 1 2 3",
            "(((",
            ")))",
            "x\n) Z 1",
            "",
            "ü) ",
        ] {
            assert_eq!(parse_stat(&line(name)), Some(EXPECTED), "{name:?}");
        }
        let mut not_text = line("??");
        not_text[6] = 0xff;
        assert_eq!(parse_stat(&not_text), Some(EXPECTED));
    }

    #[test]
    fn a_process_whose_first_thread_has_ended_still_runs() {
        let ended = Stat {
            state: b'Z',
            ..EXPECTED
        };
        assert!(!ended.runs());
        assert!(
            Stat {
                threads: 3,
                ..ended
            }
            .runs()
        );
    }

    #[test]
    fn a_line_that_is_cut_is_no_answer() {
        let whole = line("sh");
        let cut = whole.len() - " 987654321 1000 2 184".len();
        for length in 0..cut {
            assert_eq!(parse_stat(&whole[..length]), None, "{length}");
        }
    }

    #[test]
    fn a_machine_without_a_table_says_so() {
        let empty = tempfile::tempdir().unwrap();
        let table = Table::at(empty.path());
        assert!(!table.works());
        assert_eq!(table.entry(1), Entry::Unreadable);
        assert!(table.all().is_err());
        assert_eq!(table.boot_id(), None);
        assert_eq!(table.pid_namespace(), None);
    }

    #[test]
    fn a_table_of_another_form_is_not_guessed_at() {
        let other = tempfile::tempdir().unwrap();
        fs::create_dir_all(other.path().join("7")).unwrap();
        fs::write(other.path().join("7/stat"), "sh 7 1 7 7 -1,-1").unwrap();
        assert_eq!(Table::at(other.path()).entry(7), Entry::Unreadable);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_in_the_table_and_a_pid_beyond_all_is_not() {
        let table = Table::default();
        assert!(table.works());
        let Entry::Found(own) = table.entry(std::process::id()) else {
            panic!("this process is not in the table");
        };
        assert!(own.runs());
        assert_eq!(own.pid, std::process::id());
        assert_eq!(table.entry(u32::MAX), Entry::Absent);
        let listed = |stat: &Stat| (stat.pid, stat.start_time) == (own.pid, own.start_time);
        assert!(table.all().unwrap().iter().any(listed));
        assert!(table.boot_id().is_some());
        assert!(table.pid_namespace().is_some());
        assert!(table.ignored_signals(own.pid).is_some());
    }
}

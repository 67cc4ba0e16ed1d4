//! One changed file, as `git diff --raw -z` lists it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// A file in one of two states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Its kind and mode in octal: `100644`, `120000` for a link, `160000` for a submodule, `000000` for none.
    pub mode: String,
    /// The name of its contents.
    pub id: String,
    /// Its path from the top of the work tree.
    pub path: OsString,
}

impl Side {
    /// Whether it is a plain file.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.mode.starts_with("100")
    }

    /// Whether it is a submodule.
    #[must_use]
    pub fn is_submodule(&self) -> bool {
        self.mode == "160000"
    }
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `A` added, `D` deleted, `M` changed, `R` renamed, `C` copied, `T` of another kind, `U` not merged.
    pub status: char,
    /// Before.
    pub old: Side,
    /// After.
    pub new: Side,
}

impl Entry {
    /// Whether one of its sides is a submodule.
    #[must_use]
    pub fn is_of_submodule(&self) -> bool {
        self.old.is_submodule() || self.new.is_submodule()
    }

    /// The entries of a list; `None` when it is none.
    pub(super) fn parse(printed: &[u8]) -> Option<Vec<Self>> {
        let mut parts = printed.split(|byte| *byte == 0);
        let mut entries = Vec::new();
        loop {
            let head = parts.next()?;
            if head.is_empty() {
                return Some(entries);
            }
            let head = std::str::from_utf8(head).ok()?.strip_prefix(':')?;
            let mut words = head.split(' ').map(str::to_owned);
            let (old_mode, new_mode) = (words.next()?, words.next()?);
            let (old_id, new_id) = (words.next()?, words.next()?);
            let status = words.next()?.chars().next()?;
            let path = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            let from = path(parts.next()?);
            let to = match status {
                'R' | 'C' => path(parts.next()?),
                _ => from.clone(),
            };
            let old = Side {
                mode: old_mode,
                id: old_id,
                path: from,
            };
            let new = Side {
                mode: new_mode,
                id: new_id,
                path: to,
            };
            entries.push(Self { status, old, new });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_read_as_it_is() {
        let list = b":100644 100644 aa bb M\0a\nb \xff\0:100644 100755 aa bb R087\0old\0new\0:000000 160000 00 cc A\0sub\0";
        let entries = Entry::parse(list).unwrap();
        assert_eq!(entries.len(), 3);
        assert_eq!(entries[0].new.path.clone().into_vec(), b"a\nb \xff");
        assert_eq!(
            (entries[1].status, entries[1].old.path.as_os_str()),
            ('R', "old".as_ref())
        );
        assert_eq!(entries[1].new.path, "new");
        assert!(entries[2].new.is_submodule() && !entries[2].old.is_file());
        assert_eq!(Entry::parse(b""), Some(Vec::new()));
        for bad in [
            &b"x\0"[..],
            b":1 2 3\0",
            b":1 2 a b M\0",
            b":1 2 a b R1\0x\0",
        ] {
            assert_eq!(Entry::parse(bad), None);
        }
    }
}

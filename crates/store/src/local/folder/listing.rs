//! The names in a folder.

use std::ffi::CStr;
use std::fs::File;

use rustix::fs::Dir;
use rustix::io::Errno;

use super::{AS_FOLDER, Folder, absent_is_none, failed, open_quietly};
use crate::failure::StoreFailure;

impl Folder {
    /// The names inside, in no order; those that are no text are left out.
    pub(crate) fn names(&self) -> Result<Vec<String>, StoreFailure> {
        self.names_by(|name| name.to_str().ok().map(str::to_owned))
    }

    /// As [`Self::names`], of those that end in `end`: the others cost as good as nothing.
    pub(crate) fn names_with(&self, end: &str) -> Result<Vec<String>, StoreFailure> {
        self.names_by(|name| {
            let ends = name.to_bytes().ends_with(end.as_bytes());
            ends.then(|| name.to_str().ok().map(str::to_owned))?
        })
    }

    /// As [`Self::names`], with what is no text in a name replaced: nothing can be opened by such a name, but said.
    pub(crate) fn names_in_words(&self) -> Result<Vec<String>, StoreFailure> {
        self.names_by(|name| Some(name.to_string_lossy().into_owned()))
    }

    /// As [`Self::names`], of a folder inside. `None` when there is none.
    pub(crate) fn names_in(&self, name: &str) -> Result<Option<Vec<String>>, StoreFailure> {
        let path = self.child(name);
        let failed = |refused: Errno| failed("list", &path, refused);
        let inside = absent_is_none(open_quietly(&self.handle, name.as_ref(), AS_FOLDER));
        let names = inside
            .map_err(failed)?
            .map(|inside| collect(inside, |name| name.to_str().ok().map(str::to_owned)));
        names.transpose().map_err(failed)
    }

    fn names_by(
        &self,
        read: impl Fn(&CStr) -> Option<String>,
    ) -> Result<Vec<String>, StoreFailure> {
        let here = open_quietly(&self.handle, ".".as_ref(), AS_FOLDER);
        here.and_then(|here| collect(here, read))
            .map_err(|refused| failed("list", &self.path, refused))
    }
}

fn collect(here: File, read: impl Fn(&CStr) -> Option<String>) -> Result<Vec<String>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::new(here)? {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            names.extend(read(name));
        }
    }
    Ok(names)
}

//! The files that a team works on, named in the one form in which claims and discoveries compare them.
//!
//! The file system has its say here (links, case); the rest is core's [`FilePath::canonical`]. A path need not exist:
//! what is there of it is resolved, and the rest is taken by its names. Nothing is changed, and only [`Workspace::text`]
//! opens anything: the file that a canonical path names, over no link at all.
//!
//! | given | meant |
//! |---|---|
//! | an absolute path | that file |
//! | a relative path, asked inside the project | the file from where it was asked |
//! | a relative path, asked from elsewhere | the file from the project's root |

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use pitcrew_core::Refusal;
use pitcrew_core::claim::{Case, FilePath};

use super::LARGEST_TEXT;
use crate::failure::StoreFailure;
use crate::local::Project;
use crate::local::folder::Folder;

/// The most links that one path leads over, as most systems have it.
const MOST_LINKS: u32 = 40;

/// The project folder of a team, as the file system has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    root: PathBuf,
    case: Case,
}

impl Workspace {
    /// The folder of `project`, which is asked what it makes of links and of case.
    ///
    /// # Errors
    /// When a folder on the way cannot be looked at.
    pub fn of(project: &Project) -> Result<Self, StoreFailure> {
        let root = resolved(project.root())?;
        let state = project.state_dir();
        let ours = state.strip_prefix(project.root()).ok();
        let ours = ours.and_then(|below| below.iter().next());
        let case = ours.map_or(Case::Kept, |ours| case_in(&root, ours));
        Ok(Self { root, case })
    }

    /// Whether `A` and `a` are one file here.
    #[must_use]
    pub fn case(&self) -> Case {
        self.case
    }

    /// The folder, without links on the way to it.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file that version control keeps at the absolute `path`. It follows no link below its own folder, so a link
    /// there is a file of its own.
    ///
    /// # Errors
    /// As [`FilePath::canonical`] says, and `invalid_input` for what is not UTF-8.
    pub fn tracked(&self, path: &Path) -> Result<FilePath, Refusal> {
        let (Some(path), Some(root)) = (path.to_str(), self.root.to_str()) else {
            return Err(Refusal::input("file", "must be UTF-8"));
        };
        FilePath::canonical(path, root, self.case)
    }

    /// What a file says, up to [`LARGEST_TEXT`]. `None` when it is not there, is no plain file, is larger, or can only be
    /// reached over a link, which may lead out of the project.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn text(&self, file: &FilePath) -> Result<Option<Vec<u8>>, StoreFailure> {
        let (folders, name) = file
            .as_str()
            .rsplit_once('/')
            .unwrap_or(("", file.as_str()));
        let steps = folders.split('/').filter(|step| !step.is_empty());
        let opened = Folder::descend(&self.root, steps).and_then(|folder| match folder {
            Some(folder) => folder.file(name),
            None => Ok(None),
        });
        let (mut opened, now) = match opened {
            Ok(Some(opened)) => opened,
            Ok(None) | Err(StoreFailure::Escapes { .. }) => return Ok(None),
            Err(refused) => return Err(refused),
        };
        if now.size > LARGEST_TEXT {
            return Ok(None);
        }
        let mut text = Vec::new();
        let read = opened.by_ref().take(LARGEST_TEXT).read_to_end(&mut text);
        read.map_err(|refused| StoreFailure::io("read", &self.root.join(file.as_str()), refused))?;
        Ok(Some(text))
    }

    /// The file that `given` names for somebody who works in the absolute folder `from`.
    ///
    /// # Errors
    /// As [`FilePath::canonical`] says, and `invalid_input` for what is not UTF-8; the outer error is a folder on the
    /// way that cannot be looked at.
    pub fn file(
        &self,
        given: &Path,
        from: &Path,
    ) -> Result<Result<FilePath, Refusal>, StoreFailure> {
        // Whatever is wrong with the text itself is said before the file system is asked about it.
        let Some(text) = given.to_str() else {
            return Ok(Err(Refusal::input("file", "must be UTF-8")));
        };
        if let Err(refused @ Refusal::InvalidInput { .. }) =
            FilePath::canonical(text, "/", Case::Kept)
        {
            return Ok(Err(refused));
        }
        let from = resolved(from)?;
        let start = match from.starts_with(&self.root) {
            true => &from,
            false => &self.root,
        };
        let whole = resolved(&start.join(given))?;
        let (Some(whole), Some(root)) = (whole.to_str(), self.root.to_str()) else {
            return Ok(Err(Refusal::input("file", "must be UTF-8")));
        };
        let named = FilePath::canonical(whole, root, self.case);
        Ok(named.map_err(|refused| match refused {
            Refusal::OutsideRoot { root, .. } => Refusal::OutsideRoot {
                given: text.into(),
                root,
            },
            other => other,
        }))
    }
}

/// Whether the file system at `root` folds case, told by our own folder there under another spelling of its name.
fn case_in(root: &Path, ours: &OsStr) -> Case {
    let other = root.join(ours.to_ascii_uppercase());
    let what = |path: &Path| {
        let found = std::fs::metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    };
    match (what(&root.join(ours)), what(&other)) {
        (Some(one), Some(two)) if one == two => Case::Folded,
        _ => Case::Kept,
    }
}

/// The absolute `path` without links, `.` and `..`. What does not exist stays as it is named.
///
/// # Errors
/// When a folder on the way cannot be looked at.
pub fn resolved(path: &Path) -> Result<PathBuf, StoreFailure> {
    let failed = |refused: io::Error| StoreFailure::io("look at", path, refused);
    let mut whole = PathBuf::from("/");
    let mut ahead: Vec<OsString> = steps(path);
    let mut links = 0;
    while let Some(step) = ahead.pop() {
        if step == ".." {
            whole.pop();
            continue;
        }
        let next = whole.join(&step);
        let target = match std::fs::symlink_metadata(&next) {
            Ok(found) if found.is_symlink() => std::fs::read_link(&next).map_err(failed)?,
            Ok(_) => {
                whole = next;
                continue;
            }
            // A file where a folder is named: nothing can be there either.
            Err(absent)
                if matches!(
                    absent.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                whole = next;
                continue;
            }
            Err(refused) => return Err(failed(refused)),
        };
        links += 1;
        if links > MOST_LINKS {
            return Err(failed(io::Error::other("it leads over too many links")));
        }
        if target.is_absolute() {
            whole = PathBuf::from("/");
        }
        ahead.extend(steps(&target));
    }
    Ok(whole)
}

/// The names in `path`, the last one first.
fn steps(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    let mut names: Vec<OsString> = names.collect();
    names.reverse();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    struct Scene {
        folder: TempDir,
        here: Workspace,
    }

    /// A project reached over a link, with a file, a link to it, a link to its folder and one that leads out.
    fn scene() -> Scene {
        let folder = TempDir::new().unwrap();
        let root = folder.path().join("real");
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        std::fs::create_dir_all(root.join(".omp/state")).unwrap();
        std::fs::write(root.join("src/a.rs"), "").unwrap();
        symlink("src/a.rs", root.join("link.rs")).unwrap();
        symlink("src", root.join("source")).unwrap();
        symlink("not/yet.rs", root.join("dangling")).unwrap();
        symlink("/etc", root.join("out")).unwrap();
        symlink("round", root.join("round")).unwrap();
        symlink("real", folder.path().join("project")).unwrap();
        let project = Project::at(&folder.path().join("project")).unwrap();
        let here = Workspace::of(&project).unwrap();
        Scene { folder, here }
    }

    impl Scene {
        fn named(&self, given: &str, from: &str) -> Result<String, &'static str> {
            let from = self.folder.path().join(from);
            let named = self.here.file(Path::new(given), &from).unwrap();
            named
                .map(|file| file.to_string())
                .map_err(|refused| refused.code())
        }
    }

    #[test]
    fn e1_every_way_to_name_a_file_is_one_file() {
        let scene = scene();
        let absolute = scene.folder.path().join("project/src/a.rs");
        let real = scene.folder.path().join("real/src/a.rs");
        for (given, from) in [
            ("src/a.rs", "project"),
            ("./src//a.rs", "project"),
            ("src/../src/a.rs", "real"),
            ("a.rs", "project/src"),
            ("../a.rs", "project/src/deep"),
            ("link.rs", "project"),
            ("source/a.rs", "project"),
            ("source/deep/../a.rs", "project"),
            ("src/a.rs", ""),
            (absolute.to_str().unwrap(), ""),
            (real.to_str().unwrap(), "project"),
        ] {
            assert_eq!(scene.named(given, from), Ok("src/a.rs".into()), "{given}");
        }
        let composed = scene.named("src/\u{e9}.rs", "project");
        assert_eq!(composed, scene.named("src/e\u{301}.rs", "project"));
    }

    #[test]
    fn a_text_is_read_over_no_link() {
        let scene = scene();
        let root = scene.folder.path().join("real");
        std::fs::write(root.join("src/a.rs"), "a\n").unwrap();
        let tracked = |below: &str| scene.here.tracked(&root.join(below)).unwrap();
        let text = |below: &str| scene.here.text(&tracked(below)).unwrap();
        assert_eq!(text("src/a.rs").as_deref(), Some(&b"a\n"[..]));
        for none in [
            "link.rs",
            "source/a.rs",
            "out/passwd",
            "src",
            "src/b.rs",
            "no/b",
        ] {
            assert_eq!(text(none), None, "{none}");
        }
        assert_eq!(tracked("link.rs").as_str(), "link.rs");
        assert!(scene.here.tracked(Path::new("/elsewhere/a")).is_err());
    }

    #[test]
    fn what_does_not_exist_is_taken_by_its_name() {
        let scene = scene();
        let named = |given| scene.named(given, "project");
        assert_eq!(named("new/x/../b.rs"), Ok("new/b.rs".into()));
        assert_eq!(named("dangling"), Ok("not/yet.rs".into()));
        assert_eq!(named("src/a.rs/b"), Ok("src/a.rs/b".into()));
    }

    #[test]
    fn what_leads_out_of_the_project_is_refused() {
        let scene = scene();
        for given in ["out/passwd", "../x", "/etc/passwd", ".", "src/.."] {
            assert_eq!(
                scene.named(given, "project"),
                Err("outside_root"),
                "{given}"
            );
        }
        for given in ["", "a\0b"] {
            assert_eq!(scene.named(given, "project"), Err("invalid_input"));
        }
    }

    #[test]
    fn links_that_go_round_are_a_failure_and_no_endless_walk() {
        let scene = scene();
        let round = scene.here.file(Path::new("round"), scene.folder.path());
        assert_eq!(round.unwrap_err().code(), "io_failed");
    }

    #[test]
    fn e1_case_is_folded_where_the_file_system_folds_it() {
        let scene = scene();
        // Two spellings of one folder are what tells, so a second name for it stands in for such a file system.
        let root = scene.folder.path().join("real");
        assert_eq!(scene.here.case(), case_in(&root, ".omp".as_ref()));
        if scene.here.case() == Case::Kept {
            symlink(".omp", root.join(".OMP")).unwrap();
        }
        let project = Project::at(&root).unwrap();
        let folding = Workspace::of(&project).unwrap();
        assert_eq!(folding.case(), Case::Folded);
        let named = |given: &str| folding.file(Path::new(given), &root).unwrap().unwrap();
        assert_eq!(named("SRC/A.rs"), named("src/a.RS"));
    }
}

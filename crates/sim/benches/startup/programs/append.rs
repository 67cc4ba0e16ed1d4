//! A plain locked append: lock the file, write one line, wait until it is on disk.

use std::io::Write;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (path, line) = (
        arguments.next().unwrap_or_default(),
        arguments.next().unwrap_or_default(),
    );
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)?;
    file.lock()?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_data()
}

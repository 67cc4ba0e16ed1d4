//! Links the release binary of a glibc Linux host statically, where that machine can, and leaves it dynamic where it cannot.
//!
//! A static binary starts about a quarter faster and runs on machines with another C library. `+crt-static` in a configuration
//! file would also reach the procedural macros, which cannot be static, and would break a machine without `libc.a`. Link
//! arguments of a build script reach this one binary only, and come along with `cargo install` too.
//!
//! Always: a small program is linked with the same arguments and run first; the arguments are given only if it ran. Tests, debug builds,
//! cross builds, and builds whose RUSTFLAGS name `crt-static` are left alone.
//!
//! `docs/decisions/001-one-static-binary.md` has the figures and what it means for name resolution.

use std::env::VarError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// rustc asks for these libraries as shared ones. A linker script of each name, found first, sends it to the archive instead.
const SCRIPTS: &[(&str, &str)] = &[
    ("libc.so", "GROUP(-l:libc.a -l:libgcc_eh.a -l:libgcc.a)"),
    ("libgcc_s.so", "GROUP(-l:libgcc_eh.a -l:libgcc.a)"),
    ("libm.so", "INPUT(-l:libm.a)"),
    ("librt.so", "INPUT(-l:librt.a)"),
    ("libdl.so", "INPUT(-l:libdl.a)"),
    ("libutil.so", "INPUT(-l:libutil.a)"),
    ("libpthread.so", "INPUT(-l:libpthread.a)"),
];

/// Touches what a real binary needs from the archives: threads, unwinding tables, floating point and the heap.
const PROBE: &str = r#"
fn main() {
    let thread = std::thread::spawn(|| std::env::args().map(|a| (a.len() as f64).powf(0.5)).sum::<f64>());
    match thread.join() {
        Ok(sum) if sum > 0.0 => println!("linked"),
        _ => std::process::exit(1),
    }
}
"#;

fn main() {
    say("rerun-if-changed=build.rs");
    if !wanted() {
        return;
    }
    match link_arguments() {
        Ok(arguments) => arguments
            .iter()
            .for_each(|argument| say(&format!("rustc-link-arg-bins={argument}"))),
        Err(reason) => say(&format!(
            "warning=the binary is linked dynamically and starts slower: {reason}"
        )),
    }
}

/// True for a release build for the glibc Linux machine that builds, unless its owner decided about `crt-static` already.
fn wanted() -> bool {
    let is = |name: &str, value: &str| env(name).is_ok_and(|found| found == value);
    is("PROFILE", "release")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && env("HOST") == env("TARGET")
        && !env("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.contains("crt-static"))
}

/// The proven arguments, or why this machine cannot link statically.
fn link_arguments() -> Result<Vec<String>, String> {
    let out = PathBuf::from(env("OUT_DIR").map_err(|e| e.to_string())?);
    let scripts = out.join("static");
    write_scripts(&scripts).map_err(|e| format!("{} cannot be written: {e}", scripts.display()))?;
    let arguments = vec![format!("-L{}", scripts.display()), "-static-pie".to_owned()];
    prove(&out, &arguments)?;
    Ok(arguments)
}

fn write_scripts(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    SCRIPTS
        .iter()
        .try_for_each(|(name, script)| fs::write(folder.join(name), script))
}

/// Links the probe with `arguments` and runs it.
fn prove(out: &Path, arguments: &[String]) -> Result<(), String> {
    let (source, program) = (out.join("probe.rs"), out.join("probe"));
    fs::write(&source, PROBE)
        .map_err(|e| format!("{} cannot be written: {e}", source.display()))?;

    let mut rustc = command(&env("RUSTC").map_err(|e| e.to_string())?);
    rustc
        .args(["--edition", "2024", "-o"])
        .arg(&program)
        .arg(&source);
    let flags = env("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = env("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    rustc.args(
        arguments
            .iter()
            .map(|argument| format!("-Clink-arg={argument}")),
    );

    answer_of(&mut rustc, "a static link")?;
    let answer = answer_of(&mut command(&program.to_string_lossy()), "a static program")?;
    match answer.stdout.as_slice() {
        b"linked\n" => Ok(()),
        other => Err(format!(
            "a static program said {:?}",
            String::from_utf8_lossy(other)
        )),
    }
}

fn answer_of(command: &mut Command, what: &str) -> Result<Output, String> {
    let answer = command
        .output()
        .map_err(|e| format!("{what} cannot be tried: {e}"))?;
    if answer.status.success() {
        return Ok(answer);
    }
    let words = String::from_utf8_lossy(&answer.stderr);
    let cause = words
        .lines()
        .find(|line| line.contains("cannot find") || line.contains("unable to find"))
        .unwrap_or_default()
        .trim();
    Err(format!("{what} failed ({}) {cause}", answer.status))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a build script is told everything through its environment"
)]
fn env(name: &str) -> Result<String, VarError> {
    std::env::var(name)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a build script runs before there is a `runtime` to start processes in"
)]
fn command(program: &str) -> Command {
    Command::new(program)
}

/// Cargo reads its directives from standard output.
fn say(directive: &str) {
    println!("cargo::{directive}");
}

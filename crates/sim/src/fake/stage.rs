//! The terminal around the agent: bytes in, frames out, a log of both, and the orders of a test.
#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own, for tests: it has its own clock and starts its user's script"
)]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::termios::{OptionalActions, tcgetattr, tcgetwinsize, tcsetattr};
use rustix::time::Timespec;

use super::agent::{Agent, Deed};
use super::input::Reader;
use super::picture::{Picture, draw};
use super::settings::Settings;

/// How long the longest wait is, in milliseconds: so often the size is asked for.
const LONGEST: u64 = 200;

/// Runs the program in the terminal on standard input until it ends; answers its exit status.
///
/// # Errors
/// When the terminal, the log or the control pipe does not work.
pub fn play(settings: Settings) -> io::Result<i32> {
    let mut stage = Stage::open(&settings)?;
    stage.rest(settings.start_ms);
    stage.put(if settings.bracketed {
        "\x1b[?2004h"
    } else {
        ""
    })?;
    stage.put(if settings.skin.alternate {
        "\x1b[?1049h"
    } else {
        ""
    })?;
    let mut agent = Agent::new(settings, stage.now());
    loop {
        agent.handle_time(stage.now());
        if let Some(status) = stage.carry_out(&mut agent)? {
            return stage.close(&agent, status);
        }
        stage.show(&agent)?;
        stage.listen(&mut agent)?;
    }
}

struct Stage {
    began: Instant,
    terminal: File,
    input: io::Stdin,
    control: Option<File>,
    orders: Vec<u8>,
    log: Option<File>,
    reader: Reader,
    shown: Option<Picture>,
    draw_ms: u64,
}

impl Stage {
    fn open(settings: &Settings) -> io::Result<Self> {
        let input = io::stdin();
        let mut modes = tcgetattr(&input)?;
        modes.make_raw();
        tcsetattr(&input, OptionalActions::Now, &modes)?;
        let flags = fcntl_getfl(&input)?;
        let terminal = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        fcntl_setfl(&input, flags | OFlags::NONBLOCK)?;
        let nonblock = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
        let pipe = |path| {
            // Held open for writing too, so that it never ends.
            File::options()
                .read(true)
                .write(true)
                .custom_flags(nonblock)
                .open(path)
        };
        let log = |path| File::options().create(true).append(true).open(path);
        Ok(Self {
            began: Instant::now(),
            terminal,
            input,
            control: settings.control.as_ref().map(pipe).transpose()?,
            orders: Vec::new(),
            log: settings.log.as_ref().map(log).transpose()?,
            reader: Reader::default(),
            shown: None,
            draw_ms: settings.draw_ms,
        })
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn rest(&self, millis: u64) {
        std::thread::sleep(std::time::Duration::from_millis(millis));
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        let line = format!("{} {text}\n", self.now());
        match &mut self.log {
            Some(log) => log.write_all(line.as_bytes()),
            None => Ok(()),
        }
    }

    /// The terminal does not wait either, since it is the same as the input; what it does not take is tried again.
    fn put(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match self.terminal.write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.rest(1),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn show(&mut self, agent: &Agent) -> io::Result<()> {
        let size = tcgetwinsize(&self.input)?;
        let (width, height) = (
            usize::from(size.ws_col.max(20)),
            usize::from(size.ws_row.max(8)),
        );
        let picture = draw(agent, width, height);
        if self.shown.as_ref() == Some(&picture) {
            return Ok(());
        }
        self.rest(self.draw_ms);
        let mut frame = format!("\x1b]2;{}\x07\x1b[?25l\x1b[H\x1b[2J", picture.title);
        for (at, row) in picture.rows.iter().enumerate() {
            frame.push_str(&format!("\x1b[{};1H{row}", at + 1));
        }
        let (x, y) = picture.cursor;
        frame.push_str(&format!("\x1b[{};{}H", y + 1, x + 1));
        if picture.cursor_shown {
            frame.push_str("\x1b[?25h");
        }
        self.put(&frame)?;
        self.shown = Some(picture);
        self.note(&format!("shown {}", agent.shows()))
    }

    fn listen(&mut self, agent: &mut Agent) -> io::Result<()> {
        let now = self.now();
        let until = agent
            .next_at()
            .map_or(LONGEST, |at| at.saturating_sub(now).min(LONGEST));
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: i64::try_from(until).unwrap_or(0) * 1_000_000,
        };
        {
            let mut ends = vec![PollFd::new(&self.input, PollFlags::IN)];
            ends.extend(
                self.control
                    .as_ref()
                    .map(|pipe| PollFd::new(pipe, PollFlags::IN)),
            );
            match poll(&mut ends, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.take_orders(agent)?;
        let mut bytes = [0; 65_536];
        match rustix::io::read(&self.input, &mut bytes) {
            Ok(0) => agent.handle_order("exit 0", self.now()),
            Ok(length) => {
                let hex: String = bytes[..length]
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect();
                self.note(&format!("bytes {hex}"))?;
                for input in self.reader.take(&bytes[..length]) {
                    agent.handle_input(&input, self.now());
                }
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            // The terminal is gone.
            Err(rustix::io::Errno::IO) => agent.handle_order("exit 0", self.now()),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn take_orders(&mut self, agent: &mut Agent) -> io::Result<()> {
        let Some(control) = &mut self.control else {
            return Ok(());
        };
        let mut bytes = [0; 4096];
        match control.read(&mut bytes) {
            Ok(length) => self.orders.extend_from_slice(&bytes[..length]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        while let Some(end) = self.orders.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.orders.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            let now = self.now();
            agent.handle_order(&line, now);
            self.show(agent)?;
            self.note(&format!("obeyed {line}"))?;
        }
        Ok(())
    }

    /// Does what the agent wants done; answers its exit status when it ends.
    fn carry_out(&mut self, agent: &mut Agent) -> io::Result<Option<i32>> {
        for deed in agent.deeds() {
            match deed {
                Deed::Note(text) => self.note(&text.replace('\n', "\\n"))?,
                Deed::Exit(status) => return Ok(Some(status)),
                Deed::Run(message) => {
                    self.show(agent)?;
                    let script = agent.settings().run.clone().unwrap_or_default();
                    let ran = Command::new("sh")
                        .args(["-c", &script, "sh", &message])
                        .output();
                    match ran {
                        Ok(answer) => agent.handle_answer(&String::from_utf8_lossy(&answer.stdout)),
                        Err(refused) => agent.handle_answer(&refused.to_string()),
                    }
                }
            }
        }
        Ok(None)
    }

    fn close(&mut self, agent: &Agent, status: i32) -> io::Result<i32> {
        let leave = if agent.settings().skin.alternate {
            "\x1b[?1049l"
        } else {
            "\r\n"
        };
        let farewell = agent.settings().skin.farewell;
        self.put(&format!("\x1b[?2004l\x1b[?25h{leave}{farewell}\r\n"))?;
        self.note(&format!("exit {status}"))?;
        Ok(status)
    }
}

//! One frame: what the agent's state looks like in its skin on a terminal of some size.

use super::agent::Agent;
use super::skin::{Limit, Skin};

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The rows from the top, none wider than the terminal.
    pub rows: Vec<String>,
    /// Where the cursor stands: column and row.
    pub cursor: (usize, usize),
    /// Whether it is shown.
    pub cursor_shown: bool,
    /// The title.
    pub title: &'static str,
}

/// Draws the agent on a terminal of `width` and `height`.
#[must_use]
pub fn draw(agent: &Agent, width: usize, height: usize) -> Picture {
    let skin = &agent.settings().skin;
    let mut rows: Vec<String> = vec![format!("fake {}", skin.profile), String::new()];
    rows.extend(agent.lines.iter().flat_map(|line| wrapped(line, width)));
    rows.push(String::new());
    let title = skin.titles[match (agent.asks, agent.busy_until) {
        (true, _) => 2,
        (false, Some(_)) => 1,
        (false, None) => 0,
    }];
    if agent.asks {
        let asks = match agent.trusts {
            true => &["Do you trust the files in this folder?"][..],
            false => &[],
        };
        rows.extend(asks.iter().chain(skin.dialog).map(|row| (*row).to_owned()));
        let row = rows.len().min(height) - 1;
        return Picture {
            rows: last(rows, height),
            cursor: (0, row),
            cursor_shown: false,
            title,
        };
    }
    if let (true, Limit::Above(row)) = (agent.limited, skin.limit) {
        rows.push(row.to_owned());
        rows.push(String::new());
    }
    let busy = agent.busy_until.is_some();
    if let Some(row) = skin.busy_above.filter(|_| busy) {
        rows.push(row.to_owned());
        rows.push(String::new());
    }
    rows.extend(skin.above.iter().map(|row| framed(row, width)));
    let inside = composer(skin, &agent.draft, width);
    let x = inside.last().map_or(0, |row| row.chars().count());
    rows.extend(inside);
    let last_row = match (busy, agent.limited, skin.limit) {
        (true, ..) => skin.busy_below,
        (false, true, Limit::Below(row)) => Some(row),
        _ => None,
    };
    let below: Vec<&str> = match last_row {
        Some(row) => skin.below[..skin.below.len() - 1]
            .iter()
            .copied()
            .chain([row])
            .collect(),
        None => skin.below.to_vec(),
    };
    let y = rows.len() - 1;
    rows.extend(below.iter().map(|row| framed(row, width)));
    let hidden = rows.len().saturating_sub(height);
    Picture {
        rows: last(rows, height),
        cursor: (x.min(width - 1), y.saturating_sub(hidden)),
        cursor_shown: true,
        title,
    }
}

fn last(mut rows: Vec<String>, height: usize) -> Vec<String> {
    rows.drain(..rows.len().saturating_sub(height));
    rows
}

/// A single sign of a frame fills its row.
fn framed(row: &str, width: usize) -> String {
    match row {
        "─" | "▄" | "▀" => row.repeat(width),
        _ => row.chars().take(width).collect(),
    }
}

fn composer(skin: &Skin, draft: &str, width: usize) -> Vec<String> {
    let [first, further] = skin.prompt;
    let room = width - first.chars().count() - 1;
    let lines = draft.split('\n').flat_map(|line| wrapped(line, room));
    let rows = lines.enumerate().map(|(at, line)| {
        let prompt = if at == 0 { first } else { further };
        format!("{prompt}{line}")
    });
    rows.collect()
}

/// One line as rows of at most `width` characters; an empty one is one row.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let signs: Vec<char> = line.chars().collect();
    if signs.is_empty() {
        return vec![String::new()];
    }
    signs
        .chunks(width.max(1))
        .map(|part| part.iter().collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::settings::Settings;
    use super::super::skin::SKINS;
    use super::*;
    use pitcrew_core::screen::{Cursor, Facts, Row, Signature, State, judge};

    fn facts(picture: &Picture, width: u16, skin: &Skin) -> Facts {
        let cursor = |at: usize| u16::try_from(at).unwrap();
        Facts {
            rows: picture
                .rows
                .iter()
                .map(|row| Row::plain(row.clone()))
                .collect(),
            width: Some(width),
            cursor: Some(Cursor {
                x: cursor(picture.cursor.0),
                y: cursor(picture.cursor.1),
            }),
            cursor_visible: Some(picture.cursor_shown),
            alternate_screen: Some(skin.alternate),
            mouse: Some(false),
            in_mode: Some(false),
            command: Some("pitcrew-fake".into()),
            title: Some(picture.title.into()),
        }
    }

    fn signature(profile: &str) -> Signature {
        let path = format!(
            "{}/../runtime/profiles/panes/{profile}.toml",
            env!("CARGO_MANIFEST_DIR")
        );
        let table: toml::Table = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        table["screen"].clone().try_into().unwrap()
    }

    #[test]
    fn every_skin_is_judged_by_its_profile_as_what_it_shows() {
        let mut wrong = Vec::new();
        for skin in SKINS {
            let agent = || {
                Agent::new(
                    Settings {
                        skin,
                        ..Settings::default()
                    },
                    0,
                )
            };
            let signature = signature(skin.profile);
            for (order, expected) in [
                ("say hello", State::Ready),
                ("type human draft", State::Draft),
                ("busy", State::Busy),
                ("dialog", State::Dialog),
                ("limit", State::Limit),
            ] {
                for (width, height) in [(80, 24), (120, 40)] {
                    let mut agent = agent();
                    agent.handle_order(order, 0);
                    let picture = draw(&agent, width, height);
                    let width = u16::try_from(width).unwrap();
                    let reading = judge(&facts(&picture, width, &skin), &signature);
                    if reading.state != expected {
                        wrong.push(format!(
                            "{} {order}: {:?}, {}\n{}",
                            skin.profile,
                            reading.state,
                            reading.why,
                            picture.rows.join("\n").trim_matches('\n')
                        ));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    }
}

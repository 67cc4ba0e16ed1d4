//! What was seen of one pane at one moment: its visible rows, its cursor, and what the terminal knows beside them.
//!
//! A fact that was not seen is `None`; nothing is guessed, and a missing fact never makes a screen look ready.

use alloc::string::String;
use alloc::vec::Vec;

/// Where the cursor stands, from 0, in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The column.
    pub x: u16,
    /// The row.
    pub y: u16,
}

/// How one character is drawn, as far as a placeholder can be told by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tint {
    /// The terminal's own foreground.
    Plain,
    /// Dimmed, whatever the colour.
    Dim,
    /// A colour of the palette of 256.
    Indexed(u8),
    /// A colour of its own: red, green, blue.
    Rgb(u8, u8, u8),
}

/// One visible row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    /// Its characters; blanks at the end may be missing.
    pub text: String,
    /// How each character is drawn, when the look had colours.
    pub tints: Option<Vec<Tint>>,
}

impl Row {
    /// A row without colours.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tints: None,
        }
    }
}

/// One look at a pane.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The visible rows from the top; their number is the height.
    pub rows: Vec<Row>,
    /// The width in cells.
    pub width: Option<u16>,
    /// Where the cursor stands.
    pub cursor: Option<Cursor>,
    /// Whether the program shows it.
    pub cursor_visible: Option<bool>,
    /// Whether the program draws on the alternate screen.
    pub alternate_screen: Option<bool>,
    /// Whether the program takes mouse events.
    pub mouse: Option<bool>,
    /// Whether the pane is in copy mode or another mode of tmux.
    pub in_mode: Option<bool>,
    /// The name of the process in the foreground, as tmux sees it. A wrapper hides the agent's own.
    pub command: Option<String>,
    /// The pane's title.
    pub title: Option<String>,
}

impl Facts {
    /// The number of visible rows.
    #[must_use]
    pub fn height(&self) -> usize {
        self.rows.len()
    }

    /// Whether nothing is on the screen.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.rows.iter().all(|row| row.text.trim().is_empty())
    }

    /// The width, or the longest row when nobody said.
    pub(super) fn columns(&self) -> usize {
        let longest = || {
            let lengths = self.rows.iter().map(|row| row.text.chars().count());
            lengths.max().unwrap_or(0)
        };
        self.width.map_or_else(longest, usize::from)
    }
}

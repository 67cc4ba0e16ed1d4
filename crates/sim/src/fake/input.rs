//! Bytes of a terminal into what they mean: keys, text, pastes.

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// What came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Text, typed or pasted without brackets.
    Text(String),
    /// A bracketed paste.
    Paste(String),
    /// A carriage return.
    Return,
    /// A line feed.
    LineFeed,
    /// C-c.
    Interrupt,
    /// C-u.
    EraseLine,
    /// Backspace.
    Erase,
    /// Escape alone.
    Escape,
}

/// Takes bytes and keeps what is not whole yet.
#[derive(Debug, Default)]
pub struct Reader {
    rest: Vec<u8>,
}

impl Reader {
    /// What these bytes and what was left of earlier ones mean.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Input> {
        self.rest.extend_from_slice(bytes);
        let mut found = Vec::new();
        while let Some((input, used)) = next(&self.rest) {
            self.rest.drain(..used);
            found.extend(input);
        }
        found
    }
}

fn next(bytes: &[u8]) -> Option<(Option<Input>, usize)> {
    let first = *bytes.first()?;
    let key = match first {
        b'\r' => Input::Return,
        b'\n' => Input::LineFeed,
        3 => Input::Interrupt,
        0x15 => Input::EraseLine,
        8 | 0x7f => Input::Erase,
        0x1b => return escape(bytes),
        0..=0x1f => return Some((None, 1)),
        _ => return text(bytes),
    };
    Some((Some(key), 1))
}

fn text(bytes: &[u8]) -> Option<(Option<Input>, usize)> {
    let end = bytes.iter().position(|byte| *byte < 0x20 || *byte == 0x7f);
    let part = &bytes[..end.unwrap_or(bytes.len())];
    let whole = match std::str::from_utf8(part) {
        Ok(_) => part.len(),
        // A character that is not whole yet waits for its rest, one that never will be is dropped.
        Err(error) if error.error_len().is_none() && end.is_none() => error.valid_up_to(),
        Err(error) => error.valid_up_to().max(1),
    };
    if whole == 0 {
        return None;
    }
    let text = String::from_utf8_lossy(&part[..whole]).into_owned();
    Some((Some(Input::Text(text)), whole))
}

fn escape(bytes: &[u8]) -> Option<(Option<Input>, usize)> {
    if bytes.starts_with(PASTE_BEGINS) {
        let body = &bytes[PASTE_BEGINS.len()..];
        let end = body
            .windows(PASTE_ENDS.len())
            .position(|part| part == PASTE_ENDS)?;
        let text = String::from_utf8_lossy(&body[..end]).into_owned();
        return Some((
            Some(Input::Paste(text)),
            PASTE_BEGINS.len() + end + PASTE_ENDS.len(),
        ));
    }
    if bytes.len() > 1 && PASTE_BEGINS.starts_with(bytes) {
        return None;
    }
    if bytes.get(1) == Some(&b'[') {
        let end = bytes[2..]
            .iter()
            .position(|byte| (0x40..=0x7e).contains(byte));
        return end.map(|end| (None, end + 3));
    }
    Some((Some(Input::Escape), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paste_comes_as_one_whatever_pieces_it_came_in() {
        let mut reader = Reader::default();
        assert_eq!(reader.take(b"\x1b[20"), []);
        assert_eq!(reader.take(b"0~one\rtwo\x1b[2"), []);
        assert_eq!(
            reader.take(b"01~\r"),
            [Input::Paste("one\rtwo".into()), Input::Return]
        );
    }

    #[test]
    fn keys_and_text_are_told_apart() {
        let mut reader = Reader::default();
        assert_eq!(
            reader.take("aü\x03\x15\x7f\n\x1b[A\x1b".as_bytes()),
            [
                Input::Text("aü".into()),
                Input::Interrupt,
                Input::EraseLine,
                Input::Erase,
                Input::LineFeed,
                Input::Escape,
            ]
        );
        assert_eq!(reader.take(&"ü".as_bytes()[..1]), []);
        assert_eq!(reader.take(&"ü".as_bytes()[1..]), [Input::Text("ü".into())]);
    }
}

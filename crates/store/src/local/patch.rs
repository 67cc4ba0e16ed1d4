//! What a rule changed, carried over into the text that stands on disk.
//!
//! Three texts come in: the one on disk, the state as it was read from it, and the state as the rule left it. Where
//! the states agree the text on disk stays byte for byte; where they differ the new state is written.
//!
//! | on disk | in the old state | in the new state | result |
//! |---|---|---|---|
//! | key | no | no | stays: nobody here knows it |
//! | key | yes | no | removed |
//! | key | any | other than before | replaced, or patched inside, in its place |
//! | no key | no, or another | key | added at the end |
//! | no key | the same | the same | stays away: a default that was never written |
//! | key, and again | any | any | the last one stays, which is what was read |
//!
//! Elements of an array that have a `name` (or else an `id`) belong together by it, others by being equal.

use super::text::{elements, entries};

/// The text on disk with the change from `old` to `new` in it, in any layout. `None` when one of the three has no
/// outline, or the text is not what `old` was read from.
pub(super) fn patch(disk: &[u8], old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(disk.len() + new.len());
    patch_value(disk, old, new, &mut out)?;
    Some(out)
}

fn patch_value(disk: &[u8], old: &[u8], new: &[u8], out: &mut Vec<u8>) -> Option<()> {
    match (disk.first()?, old.first()?, new.first()?) {
        _ if old == new => out.extend_from_slice(disk),
        (b'{', b'{', b'{') => patch_object(disk, old, new, out)?,
        (b'[', b'[', b'[') => patch_array(disk, old, new, out)?,
        _ => out.extend_from_slice(new),
    }
    Some(())
}

/// Whether two keys with their quotation marks are one, however they are escaped.
fn is_same_key(one: &[u8], other: &[u8]) -> bool {
    let read = |key: &[u8]| serde_json::from_slice::<String>(key).ok();
    one == other
        || ((one.contains(&b'\\') || other.contains(&b'\\'))
            && read(one).is_some_and(|one| Some(one) == read(other)))
}

fn find<'a>(entries: &[(&[u8], &'a [u8])], key: &[u8]) -> Option<&'a [u8]> {
    entries
        .iter()
        .find(|(known, _)| is_same_key(known, key))
        .map(|(_, value)| *value)
}

fn comma(out: &mut Vec<u8>) {
    if !matches!(out.last(), Some(b'{' | b'[')) {
        out.push(b',');
    }
}

fn patch_object(disk: &[u8], old: &[u8], new: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (disk, old, new) = (entries(disk)?, entries(old)?, entries(new)?);
    out.push(b'{');
    for (place, (key, on_disk)) in disk.iter().enumerate() {
        // Of a key that stands twice the last one was read, so that one stays.
        if find(&disk[place + 1..], key).is_some() {
            continue;
        }
        let (before, after) = (find(&old, key), find(&new, key));
        if before.is_some() && after.is_none() {
            continue;
        }
        comma(out);
        out.extend_from_slice(key);
        out.push(b':');
        match (before, after) {
            (Some(before), Some(after)) => patch_value(on_disk, before, after, out)?,
            (None, Some(after)) => out.extend_from_slice(after),
            (_, None) => out.extend_from_slice(on_disk),
        }
    }
    for (key, after) in &new {
        if find(&disk, key).is_none() && find(&old, key) != Some(*after) {
            comma(out);
            out.extend_from_slice(key);
            out.push(b':');
            out.extend_from_slice(after);
        }
    }
    out.push(b'}');
    Some(())
}

/// What an element goes by: its `name` or else its `id`, as it is written.
fn name_of(element: &[u8]) -> Option<&[u8]> {
    let entries = entries(element)?;
    find(&entries, b"\"name\"").or_else(|| find(&entries, b"\"id\""))
}

fn patch_array(disk: &[u8], old: &[u8], new: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (disk, old, new) = (elements(disk)?, elements(old)?, elements(new)?);
    if disk.len() != old.len() {
        return None;
    }
    let known = old.into_iter().zip(disk);
    let mut free: Vec<_> = known
        .map(|(before, on_disk)| (name_of(before), before, on_disk))
        .collect();
    out.push(b'[');
    for after in new {
        let name = name_of(after);
        let found = free.iter().position(|(known, before, _)| match name {
            Some(_) => *known == name,
            None => *before == after,
        });
        comma(out);
        match found.map(|index| free.remove(index)) {
            Some((_, before, on_disk)) => patch_value(on_disk, before, after, out)?,
            None => out.extend_from_slice(after),
        }
    }
    out.push(b']');
    Some(())
}

#[cfg(test)]
mod tests;

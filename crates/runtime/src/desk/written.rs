//! Documents as they are written, with the keys that this version does not know and in the order that they stand in.
//!
//! Answers to requests show them like this, because other programs keep facts of their own in the same files. An
//! adapter that keeps typed states has nothing else to show, so there the typed form is the written one.

use std::marker::PhantomData;

use pitcrew_core::TaskId;
use pitcrew_core::task::Task;
use pitcrew_store::{Document, Place, StoreExt, StoreFailure};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{Desk, NotDone};

/// The text of a `D` as any JSON.
struct Verbatim<D> {
    value: Value,
    of: PhantomData<fn() -> D>,
}

impl<D> Clone for Verbatim<D> {
    fn clone(&self) -> Self {
        Self {
            value: self.value.clone(),
            of: PhantomData,
        }
    }
}

impl<D> Serialize for Verbatim<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de, D> Deserialize<'de> for Verbatim<D> {
    fn deserialize<R: Deserializer<'de>>(reader: R) -> Result<Self, R::Error> {
        Ok(Self {
            value: Value::deserialize(reader)?,
            of: PhantomData,
        })
    }
}

impl<D: Document> Document for Verbatim<D> {
    type Id = D::Id;

    fn place(id: &D::Id) -> Place {
        D::place(id)
    }
}

impl Desk<'_> {
    /// A document in both forms.
    ///
    /// # Errors
    /// `CorruptDocument` when it cannot be read as `D`.
    pub(super) fn written<D: Document>(
        &self,
        id: &D::Id,
    ) -> Result<Option<(D, Value)>, StoreFailure> {
        let corrupt =
            |why: serde_json::Error| StoreFailure::corrupt(&D::place(id), &why.to_string());
        match self.store.view::<Verbatim<D>>(id) {
            Ok(None) => Ok(None),
            Ok(Some(text)) => {
                let typed = D::deserialize(&text.value).map_err(corrupt)?;
                match typed.misplaced(id) {
                    Some(why) => Err(StoreFailure::corrupt(&D::place(id), &why)),
                    None => Ok(Some((typed, text.value))),
                }
            }
            // No JSON, or an adapter without texts: the typed reading tells which.
            Err(StoreFailure::CorruptDocument { .. }) => match self.store.view::<D>(id)? {
                None => Ok(None),
                Some(typed) => {
                    let value = serde_json::to_value(&typed).map_err(corrupt)?;
                    Ok(Some((typed, value)))
                }
            },
            Err(failure) => Err(failure),
        }
    }

    /// `task` as it is written. When somebody has changed it since, what the caller has, so that an answer never
    /// mixes two states.
    ///
    /// # Errors
    /// When the task cannot be read.
    pub fn task_as_written(&self, task: &Task) -> Result<Value, NotDone> {
        let id = TaskId::new(&task.id)?;
        match self.written::<Task>(&id) {
            Ok(Some((now, value))) if now == *task => Ok(value),
            Ok(_) | Err(StoreFailure::CorruptDocument { .. }) => {
                // A task is made of text and numbers, which JSON always takes.
                Ok(serde_json::to_value(task).unwrap_or_default())
            }
            Err(failure) => Err(failure.into()),
        }
    }
}

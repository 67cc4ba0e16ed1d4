//! Which types of core are documents, and where each stands.
//!
//! Only what a document is: the place, and whether its rules are whole. How a place is kept says [`Place`] itself.

use pitcrew_core::board::Board;
use pitcrew_core::claim::Claims;
use pitcrew_core::exchange::Exchanges;
use pitcrew_core::limiter::Limiter;
use pitcrew_core::loops::{Loop, Ralph, Ultraqa, Ultrawork};
use pitcrew_core::name::TaskId;
use pitcrew_core::roster::Team;
use pitcrew_core::task::Task;

use super::{Document, Place};

impl Document for Team {
    type Id = ();

    fn place((): &()) -> Place {
        Place::Team
    }
}

impl Document for Task {
    type Id = TaskId;

    fn place(id: &TaskId) -> Place {
        Place::Task(id.clone())
    }

    fn misplaced(&self, id: &TaskId) -> Option<String> {
        (self.id != id.as_str()).then(|| format!("it says that its id is {:?}", self.id))
    }
}

impl Document for Claims {
    type Id = ();

    const WHOLE_RULES: bool = true;

    fn place((): &()) -> Place {
        Place::Claims
    }
}

impl Document for Limiter {
    type Id = ();

    const WHOLE_RULES: bool = true;

    fn place((): &()) -> Place {
        Place::Limits
    }
}

impl Document for Board {
    type Id = ();

    const WHOLE_RULES: bool = true;

    fn place((): &()) -> Place {
        Place::Board
    }
}

/// A loop stands where its mode says.
macro_rules! loops {
    ($($state:ident)*) => {$(
        impl Document for $state {
            type Id = ();

            const WHOLE_RULES: bool = true;

            fn place((): &()) -> Place {
                Place::Loop($state::MODE)
            }
        }
    )*};
}

loops! { Ralph Ultrawork Ultraqa }

impl Document for Exchanges {
    type Id = ();

    const WHOLE_RULES: bool = true;

    fn place((): &()) -> Place {
        Place::Exchanges
    }
}

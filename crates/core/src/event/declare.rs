//! How a row of the list of facts becomes an enum, its written form and its description.
//!
//! One row says everything about a type, so that none of the four can be forgotten: the variant, the name on disk, the
//! topic, and what the page of events says. Everything is named in full, so that the list needs nothing of it.

macro_rules! facts {
    ($(
        $(#[doc = $about:literal])+
        $name:ident = $word:literal on $carrier:ident $(($whose:ident))? {
            $( $(#[doc = $says:literal])+ $field:ident : $form:ty ),* $(,)?
        }
    )*) => {
        /// Something that happened.
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = "type")]
        pub enum Fact {
            $(
                $(#[doc = $about])+
                #[serde(rename = $word)]
                $name {
                    $( $(#[doc = $says])+ #[serde(skip_serializing_if = "super::schema::Field::is_absent")] $field: $form ),*
                }
            ),*
        }

        impl Fact {
            /// Its type, as it is written.
            #[must_use]
            pub fn word(&self) -> &'static str {
                match self {
                    $( Self::$name { .. } => $word ),*
                }
            }

            /// Where it is published.
            #[must_use]
            pub fn topic(&self) -> $crate::event::Topic {
                match self {
                    $( Self::$name { $($whose,)? .. } => $crate::event::Topic::$carrier $(($whose.clone()))? ),*
                }
            }

            /// The members that it names.
            #[must_use]
            pub fn names(&self) -> Vec<&Name> {
                use $crate::event::schema::Field as _;
                let mut names = Vec::new();
                match self {
                    $( Self::$name { $($field),* } => { $( $field.names_into(&mut names); )* } ),*
                }
                names
            }
        }

        /// Every type, in the order in which it is described.
        pub const SCHEMA: &[$crate::event::schema::Described] = &[
            $( $crate::event::schema::Described {
                word: $word,
                carrier: $crate::event::schema::Carrier::$carrier $((stringify!($whose)))?,
                about: concat!($($about),+),
                fields: &[
                    $( $crate::event::schema::DescribedField {
                        name: stringify!($field),
                        form: <$form as $crate::event::schema::Field>::form,
                        about: concat!($($says),+),
                    } ),*
                ],
            } ),*
        ];
    };
}

pub(super) use facts;

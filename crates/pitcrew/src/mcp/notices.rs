//! What a client is told when its team changes, whichever process changed it.
//!
//! Changes that came together are one notice for each resource. The list of tools follows the member's role: it is
//! looked at when the team's document changes, and told of when it is another. A member that is none any more is told
//! nothing further.

use std::collections::BTreeSet;
use std::sync::Arc;

use pitcrew_core::Name;
use pitcrew_runtime::desk::NotDone;
use pitcrew_runtime::tools::{Listener, TeamTools, View};
use pitcrew_store::{Change, Place};
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer, SubscriptionSink};

use super::server::{Session, uri_of};

/// Whom to tell.
pub(super) enum Sink {
    /// A client that subscribes to resources one by one.
    Peer(Peer<RoleServer>, Arc<Session>),
    /// A client that listens on one subscription.
    Subscription(SubscriptionSink),
}

impl Sink {
    /// Whether it wants to hear of `view`.
    fn wants(&self, team: &Name, view: View) -> bool {
        match self {
            Self::Peer(_, session) => session.subscribed().contains(&view),
            Self::Subscription(sink) => {
                let accepted = sink.accepted().resource_subscriptions.as_ref();
                accepted.is_some_and(|uris| uris.contains(&uri_of(team, view)))
            }
        }
    }

    /// Tells of a resource. Whether anybody is there to be told.
    async fn updated(&self, uri: String) -> bool {
        match self {
            Self::Peer(peer, _) => {
                let update = ResourceUpdatedNotificationParam::new(uri);
                peer.notify_resource_updated(update).await.is_ok()
            }
            Self::Subscription(sink) => sink.notify_resource_updated(uri).await.is_ok(),
        }
    }

    /// Tells that the tools are others. Whether anybody is there to be told.
    async fn tools_changed(&self) -> bool {
        match self {
            Self::Peer(peer, _) => peer.notify_tool_list_changed().await.is_ok(),
            // Who did not ask for it is not told, and stays.
            Self::Subscription(sink) => {
                sink.accepted().tools_list_changed != Some(true)
                    || sink.notify_tool_list_changed().await.is_ok()
            }
        }
    }
}

/// Who the member is and what it is offered, as far as a client can tell.
#[derive(Clone, PartialEq, Eq)]
struct Standing {
    me: Name,
    offered: Vec<&'static str>,
}

/// The standing of the member; `None` when it is none any more.
///
/// # Errors
/// When that cannot be looked up now.
async fn standing(tools: &TeamTools) -> Result<Option<Standing>, Unknown> {
    let tools = tools.clone();
    let look = move || -> Result<Standing, NotDone> {
        let me = tools.speaker()?.name;
        let offered = tools.list()?.iter().map(|tool| tool.name).collect();
        Ok(Standing { me, offered })
    };
    match tokio::task::spawn_blocking(look).await {
        Ok(Ok(standing)) => Ok(Some(standing)),
        Ok(Err(NotDone::Refused(_))) => Ok(None),
        Ok(Err(NotDone::Failed(_))) | Err(_) => Err(Unknown),
    }
}

/// The team could not be read.
struct Unknown;

/// Tells `sink` of what changes until nobody is there, the member is none any more, or the session ends.
pub(super) async fn tell(
    sink: Sink,
    tools: TeamTools,
    mut changes: Listener,
    session: Arc<Session>,
) {
    let told = async {
        let mut known = match standing(&tools).await {
            Ok(Some(standing)) => standing,
            Ok(None) => return session.leave(),
            Err(Unknown) => return,
        };
        let team = tools.desk().team_id().clone();
        while let Some(change) = changes.next().await {
            let mut touched = Touched::default();
            touched.note(&known.me, &change);
            while let Some(change) = changes.ready() {
                touched.note(&known.me, &change);
            }
            if touched.roster {
                match standing(&tools).await {
                    Ok(None) => return session.leave(),
                    Ok(Some(now)) if now != known => {
                        known = now;
                        if !sink.tools_changed().await {
                            return;
                        }
                    }
                    // The next change of the roster is another chance.
                    Ok(Some(_)) | Err(Unknown) => {}
                }
            }
            for view in touched.views {
                if sink.wants(&team, view) && !sink.updated(uri_of(&team, view)).await {
                    return;
                }
            }
        }
    };
    tokio::select! {
        () = told => {}
        () = session.ends().cancelled() => {}
    }
}

/// What a few changes touched.
#[derive(Default)]
struct Touched {
    views: BTreeSet<View>,
    roster: bool,
}

impl Touched {
    fn note(&mut self, me: &Name, change: &Change) {
        let touched = View::ALL.into_iter();
        self.views
            .extend(touched.filter(|view| view.is_touched_by(me, change)));
        self.roster |= matches!(change, Change::Document(Place::Team) | Change::Lagged);
    }
}

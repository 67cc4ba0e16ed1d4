//! The bus: who listens to which topic in this process, and the bounded channels between.
//!
//! A topic is a text and exists while somebody listens to it; publishing to one that nobody listens to costs a look-up.
//! Nobody who publishes waits: a listener that falls behind by more than the bus keeps loses the oldest and is told how
//! many, as an event among the others ([`Happening::Lagged`]). So a slow listener costs bounded memory and loses nothing
//! in silence. One bus may carry any number of teams: their topics differ.
//!
//! Nothing here is kept: what must not be lost stands in the store, and the bus says that it is there.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::broadcast::{self, Receiver, Sender, error::RecvError, error::TryRecvError};

use super::happening::Happening;

/// How many events a listener may be behind unless the bus was made for another number.
const KEPT: usize = 256;

type Topics = RwLock<HashMap<Box<str>, Sender<Arc<Happening>>>>;

/// Topics and their listeners. A clone is the same bus.
#[derive(Clone, Debug)]
pub struct Bus {
    topics: Arc<Topics>,
    kept: usize,
}

/// What one listener hears.
#[derive(Debug)]
pub struct Listening {
    topic: Box<str>,
    receiver: Option<Receiver<Arc<Happening>>>,
    topics: Arc<Topics>,
}

impl Default for Bus {
    fn default() -> Self {
        Self::keeping(KEPT)
    }
}

impl Bus {
    /// A bus without listeners, on which one may be 256 events behind.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A bus on which a listener may be `kept` events behind, at least one.
    #[must_use]
    pub fn keeping(kept: usize) -> Self {
        Self {
            topics: Arc::default(),
            kept: kept.max(1),
        }
    }

    /// Listens to a topic from now on.
    #[must_use]
    pub fn subscribe(&self, topic: &str) -> Listening {
        let mut topics = self.topics.write().unwrap_or_else(PoisonError::into_inner);
        let sender = topics
            .entry(topic.into())
            .or_insert_with(|| broadcast::channel(self.kept).0);
        Listening {
            topic: topic.into(),
            receiver: Some(sender.subscribe()),
            topics: Arc::clone(&self.topics),
        }
    }

    /// Publishes to a topic; answers how many listen to it.
    pub fn publish(&self, topic: &str, happening: impl Into<Arc<Happening>>) -> usize {
        let topics = self.topics.read().unwrap_or_else(PoisonError::into_inner);
        match topics.get(topic) {
            // Whoever listened has left in between: it was for nobody.
            Some(sender) => sender.send(happening.into()).unwrap_or(0),
            None => 0,
        }
    }

    /// Whether anybody listens to a topic.
    #[must_use]
    pub fn is_heard(&self, topic: &str) -> bool {
        let topics = self.topics.read().unwrap_or_else(PoisonError::into_inner);
        topics
            .get(topic)
            .is_some_and(|sender| sender.receiver_count() > 0)
    }

    /// Whether anybody listens to a topic that is `root` or stands below it.
    pub(super) fn is_heard_below(&self, root: &str) -> bool {
        let topics = self.topics.read().unwrap_or_else(PoisonError::into_inner);
        topics.keys().any(|topic| {
            let below = topic.strip_prefix(root);
            below.is_some_and(|below| below.is_empty() || below.starts_with(':'))
        })
    }
}

impl Listening {
    /// The topic.
    #[must_use]
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// The next event, waiting for it. It is [`Happening::Lagged`] when others were lost before it. Giving up on the
    /// wait loses nothing. `None` once nothing can come any more, which is when the bus itself is gone.
    pub async fn next(&mut self) -> Option<Arc<Happening>> {
        match self.receiver.as_mut()?.recv().await {
            Ok(happening) => Some(happening),
            Err(RecvError::Lagged(missed)) => Some(Arc::new(Happening::Lagged { missed })),
            Err(RecvError::Closed) => None,
        }
    }

    /// An event that is here already, if there is one.
    pub fn ready(&mut self) -> Option<Arc<Happening>> {
        match self.receiver.as_mut()?.try_recv() {
            Ok(happening) => Some(happening),
            Err(TryRecvError::Lagged(missed)) => Some(Arc::new(Happening::Lagged { missed })),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut topics = self.topics.write().unwrap_or_else(PoisonError::into_inner);
        self.receiver = None;
        if topics
            .get(&self.topic)
            .is_some_and(|sender| sender.receiver_count() == 0)
        {
            topics.remove(&self.topic);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(n: u64) -> Happening {
        Happening::Said(json!(n))
    }

    #[tokio::test]
    async fn everybody_who_listens_to_a_topic_hears_each_event_once_and_in_order() {
        let bus = Bus::new();
        let (mut ann, mut bob, mut other) =
            (bus.subscribe("a"), bus.subscribe("a"), bus.subscribe("a:b"));
        assert_eq!(bus.publish("a", said(1)), 2);
        assert_eq!(bus.publish("a", said(2)), 2);
        for listener in [&mut ann, &mut bob] {
            assert_eq!(*listener.next().await.unwrap(), said(1));
            assert_eq!(*listener.next().await.unwrap(), said(2));
            assert_eq!(listener.ready(), None);
        }
        assert_eq!(other.ready(), None);
    }

    #[tokio::test]
    async fn who_is_too_slow_is_told_how_much_it_missed_and_goes_on() {
        let bus = Bus::keeping(4);
        let mut slow = bus.subscribe("a");
        for n in 0..10 {
            bus.publish("a", said(n));
        }
        assert_eq!(*slow.next().await.unwrap(), Happening::Lagged { missed: 6 });
        assert_eq!(*slow.next().await.unwrap(), said(6));
    }

    #[test]
    fn a_topic_is_gone_with_its_last_listener() {
        let bus = Bus::new();
        let ann = bus.subscribe("nous:team:t:agent:a");
        assert!(bus.is_heard_below("nous:team:t"));
        assert!(!bus.is_heard_below("nous:team:t1"));
        drop(ann);
        assert!(!bus.is_heard("nous:team:t:agent:a"));
        assert!(!bus.is_heard_below("nous:team:t"));
        assert_eq!(bus.publish("nous:team:t:agent:a", said(1)), 0);
    }
}

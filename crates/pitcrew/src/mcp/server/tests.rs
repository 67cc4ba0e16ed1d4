//! The server and a client in one process, over a pipe in memory and a team in memory.

use std::sync::Arc;

use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::{Recruit, Seat};
use pitcrew_runtime::clock::{SystemClock, SystemEntropy};
use pitcrew_runtime::desk::{Credentials, Founding, Plan};
use pitcrew_runtime::tools::Files;
use pitcrew_store::memory::MemoryStore;
use rmcp::ServiceExt;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{RoleClient, RunningService};
use rmcp::{ClientHandler, service};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::*;

/// A client that hands on what it is told.
struct Listener(UnboundedSender<String>);

impl ClientHandler for Listener {
    async fn on_resource_updated(
        &self,
        update: ResourceUpdatedNotificationParam,
        _context: service::NotificationContext<RoleClient>,
    ) {
        // A test that has ended hears no more.
        let _ = self.0.send(update.uri);
    }
}

type Connected = RunningService<RoleClient, Listener>;

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

fn tools(store: &Arc<MemoryStore>, member: &str) -> TeamTools {
    TeamTools::for_member(
        name("t"),
        Credentials {
            token: None,
            claimed: Some(member.into()),
        },
        store.clone(),
        Arc::new(SystemClock),
        Arc::new(SystemEntropy),
        Files::Named { root: "/p".into() },
    )
}

/// A team of alice and bob, bob's client, and what it is told.
async fn client() -> (Arc<MemoryStore>, Connected, UnboundedReceiver<String>) {
    let store = Arc::new(MemoryStore::new());
    let members = ["alice", "bob"].map(|member| Recruit {
        name: name(member),
        role: "coder".into(),
        seat: Seat::Model,
        profile: None,
        task_id: None,
    });
    let plan = Plan {
        founding: Founding::default(),
        members: members.into(),
        tasks: Vec::new(),
    };
    tools(&store, "alice").desk().found(&plan).unwrap();
    let changes = Changes::of(&*store).unwrap();
    let alone = super::Client::Alone(CancellationToken::new());
    let server = MemberServer::new(tools(&store, "bob"), changes, alone);
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    tokio::spawn(async move {
        let running = server.serve(ours).await.unwrap();
        running.waiting().await.unwrap()
    });
    let (sender, told) = unbounded_channel();
    let client = Listener(sender).serve(theirs).await.unwrap();
    (store, client, told)
}

fn call(tool: &'static str, args: serde_json::Value) -> CallToolRequestParams {
    let args = args.as_object().cloned().unwrap_or_default();
    CallToolRequestParams::new(tool).with_arguments(args)
}

#[tokio::test]
async fn tools_and_resources_are_listed_and_a_call_answers_text_and_facts() {
    let (_store, client, _told) = client().await;
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools.len(), pitcrew_runtime::tools::TOOLS.len());
    let resources = client.list_all_resources().await.unwrap();
    let uris: Vec<&str> = resources.iter().map(|found| found.uri.as_str()).collect();
    assert_eq!(
        uris,
        ["inbox", "tasks", "claims", "status"].map(|word| format!("pitcrew://t/{word}"))
    );
    let answer = client
        .call_tool(call(
            "claim_region",
            json!({ "file": "a", "start_line": 1, "end_line": 2 }),
        ))
        .await
        .unwrap();
    assert_eq!(answer.is_error, Some(false));
    assert_eq!(answer.structured_content.unwrap()["status"], "claimed");
    let answer = client
        .call_tool(call("claim_region", json!({})))
        .await
        .unwrap();
    assert_eq!(answer.is_error, Some(true));
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_subscriber_is_told_what_somebody_else_changed_and_nothing_more() {
    let (store, client, mut told) = client().await;
    let uri = "pitcrew://t/inbox".to_string();
    #[expect(deprecated, reason = "the clients of today subscribe so")]
    client
        .subscribe(SubscribeRequestParams::new(uri.clone()))
        .await
        .unwrap();
    let alice = tools(&store, "alice");
    let line = json!({ "file": "a", "start_line": 1, "end_line": 2 });
    let done = alice.call("claim_region", line.as_object().unwrap());
    assert_eq!(done.verdict, Verdict::Done);
    let message = json!({ "to": "bob", "content": "hi" });
    let done = alice.call("peer_message", message.as_object().unwrap());
    assert_eq!(done.verdict, Verdict::Done);
    assert_eq!(told.recv().await, Some(uri));
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_wait_ends_when_mail_comes() {
    let (store, client, _told) = client().await;
    let waiting = client.call_tool(call("read_messages", json!({ "wait_seconds": 600 })));
    let sending = async {
        let message = json!({ "to": "bob", "content": "hi" });
        tools(&store, "alice").call("peer_message", message.as_object().unwrap())
    };
    let (answer, sent) = tokio::join!(waiting, sending);
    assert_eq!(sent.verdict, Verdict::Done);
    assert_eq!(
        answer.unwrap().structured_content.unwrap()["status"],
        "read"
    );
    client.cancel().await.unwrap();
}

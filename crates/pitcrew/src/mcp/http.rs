//! The servers of all members of a team over streamable HTTP, on loopback only.
//!
//! Each member has a service of its own, by its token, so that nobody can go on with a session that another began. The
//! services of a token that belongs to nobody any more are ended, with every stream that is still open on them.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use pitcrew_core::identity::hash_token;
use pitcrew_runtime::desk::{Credentials, NotDone};
use pitcrew_runtime::process::Interrupts;
use pitcrew_runtime::tools::Changes;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::door::{self, Shut};
use super::server::{Client, MemberServer};
use super::{Served, runtime};
use crate::halt::Halt;

/// How many connections are served at once; who comes beyond that waits.
const CONNECTIONS: usize = 256;

type Service = StreamableHttpService<MemberServer, LocalSessionManager>;

/// The service of one token, and what ends it.
#[derive(Clone)]
struct Room {
    service: Service,
    ends: CancellationToken,
}

/// All of them.
struct House {
    served: Served,
    changes: Changes,
    port: u16,
    /// By the hash of the token: no token is kept.
    rooms: Mutex<BTreeMap<String, Room>>,
    ends: CancellationToken,
}

/// Serves every member that has a token, until somebody wants it to end. `opened` is told where.
pub(crate) fn serve_all(served: &Served, port: u16, opened: impl FnOnce(&str)) -> Result<(), Halt> {
    let changes = served.changes()?;
    let runtime = runtime()?;
    let failed = |what: &'static str| {
        move |refused: std::io::Error| Halt::System {
            what,
            why: refused.to_string(),
        }
    };
    let ended = runtime.block_on(async {
        let mut interrupts = Interrupts::listen().map_err(failed("listen for signals"))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .await
            .map_err(failed("listen on that port"))?;
        let port = listener.local_addr().map_err(failed("listen"))?.port();
        let house = Arc::new(House {
            served: served.clone(),
            changes,
            port,
            rooms: Mutex::default(),
            ends: CancellationToken::new(),
        });
        opened(&format!("http://127.0.0.1:{port}{}", door::PATH));
        let room_for = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let came = async {
                // Closing it is never done, so a place comes sooner or later.
                let place = room_for.clone().acquire_owned().await.ok();
                (listener.accept().await, place)
            };
            tokio::select! {
                _ = interrupts.next() => break,
                (came, place) = came => match came {
                    Ok((stream, _)) => {
                        tokio::spawn(receive(house.clone(), stream, place));
                    }
                    // A client that went at once; the next one waits already.
                    Err(went) if went.kind() == ErrorKind::ConnectionAborted => {}
                    Err(refused) => return Err(failed("go on listening")(refused)),
                },
            }
        }
        house.ends.cancel();
        Ok(())
    });
    runtime.shutdown_background();
    ended
}

/// Answers what comes on one connection.
async fn receive(house: Arc<House>, stream: TcpStream, place: Option<OwnedSemaphorePermit>) {
    // Small answers would wait for each other otherwise: twenty times slower. Without it they are only late.
    let _ = stream.set_nodelay(true);
    let ends = house.ends.clone();
    let answer = service_fn(move |request| {
        let house = house.clone();
        async move { Ok::<_, Infallible>(house.answer(request).await) }
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
    tokio::select! {
        // A client that breaks off is that client's business.
        _ = connection => {}
        () = ends.cancelled() => {}
    }
    drop(place);
}

impl House {
    async fn answer(
        self: &Arc<Self>,
        request: Request<Incoming>,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        let token = match door::token(request.uri(), request.headers(), self.port) {
            Ok(token) => token.to_string(),
            Err(shut) => return refuse(shut),
        };
        let house = self.clone();
        let room = tokio::task::spawn_blocking(move || house.room(token)).await;
        match room {
            Ok(Ok(room)) => room.service.handle(request).await,
            Ok(Err(shut)) => refuse(shut),
            Err(_) => refuse(Shut {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                why: "something broke",
            }),
        }
    }

    /// The room of whoever has `token`.
    fn room(&self, token: String) -> Result<Room, Shut> {
        let hash = hash_token(&token);
        let tools = self.served.tools(Credentials {
            token: Some(token),
            claimed: None,
        });
        let standing = tools.speaker();
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        match standing {
            Ok(_) => {}
            Err(NotDone::Refused(_)) => {
                if let Some(room) = rooms.remove(&hash) {
                    room.ends.cancel();
                }
                return Err(door::UNKNOWN);
            }
            Err(NotDone::Failed(_)) => {
                return Err(Shut {
                    status: StatusCode::SERVICE_UNAVAILABLE,
                    why: "the team cannot be read now",
                });
            }
        }
        rooms.retain(|_, room| !room.ends.is_cancelled());
        let room = rooms.entry(hash).or_insert_with(|| {
            let ends = self.ends.child_token();
            let (changes, of_room) = (self.changes.clone(), ends.clone());
            let mut config = StreamableHttpServerConfig::default().enforce_origin_validation();
            config.cancellation_token = ends.clone();
            let make = move || {
                let client = Client::InRoom(of_room.clone());
                Ok(MemberServer::new(tools.clone(), changes.clone(), client))
            };
            Room {
                service: StreamableHttpService::new(make, Arc::default(), config),
                ends,
            }
        });
        Ok(room.clone())
    }
}

fn refuse(shut: Shut) -> Response<BoxBody<Bytes, Infallible>> {
    let body = Full::new(Bytes::from_static(shut.why.as_bytes())).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = shut.status;
    if shut.status == StatusCode::UNAUTHORIZED {
        let headers = response.headers_mut();
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

//! The server of one member on standard input and output.
//!
//! It lives as long as its client: when standard input ends, whatever waits is given up and the process ends. Nothing
//! but the protocol is written to standard output; words go to standard error.

use std::pin::Pin;
use std::task::{Context as Task, Poll};

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio_pipes;
use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::CancellationToken;

use super::server::{Client, MemberServer};
use super::{Served, runtime};
use crate::halt::Halt;
use pitcrew_runtime::desk::Credentials;

/// Standard input that says when it has come to its end.
struct UntilEnd<R> {
    inner: R,
    gone: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for UntilEnd<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Task<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(task, buffer);
        let is_end = match &read {
            Poll::Ready(Ok(())) => buffer.filled().len() == before && buffer.remaining() > 0,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if is_end {
            self.gone.cancel();
        }
        read
    }
}

/// Serves the member that `who` proves or names until its client is gone.
pub(crate) fn serve_one(served: &Served, who: Credentials) -> Result<(), Halt> {
    let tools = served.tools(who);
    let changes = served.changes()?;
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let gone = CancellationToken::new();
        let (stdin, stdout) = stdio_pipes();
        let stdin = UntilEnd {
            inner: stdin,
            gone: gone.clone(),
        };
        let server = MemberServer::new(tools, changes, Client::Alone(gone));
        let running = match server.serve((stdin, stdout)).await {
            Ok(running) => running,
            // A client that went before it said anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(refused) => return Err(refused.to_string()),
        };
        match running.waiting().await {
            Ok(_) => Ok(()),
            Err(broken) => Err(broken.to_string()),
        }
    });
    // A read of standard input that is still going on must not hold the process.
    runtime.shutdown_background();
    ended.map_err(|why| Halt::System {
        what: "go on serving this client",
        why,
    })
}

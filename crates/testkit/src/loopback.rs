//! A small HTTP server that ends when it is dropped, and takes every open connection with it.

use std::net::SocketAddr;

use axum::Router;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A running server. `axum::serve` would leave connections behind; tests of restarts need them cut.
#[derive(Debug)]
pub struct LoopbackServer {
    address: SocketAddr,
    _accepting: JoinSet<()>,
}

impl LoopbackServer {
    /// Serves `router` on a free port.
    pub fn start(router: Router) -> Self {
        Self::start_on(crate::ports::listen(), router)
    }

    /// Serves `router` on `listener`.
    pub fn start_on(listener: TcpListener, router: Router) -> Self {
        let address = listener
            .local_addr()
            .expect("a listening socket has an address");
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, router));
        Self {
            address,
            _accepting: accepting,
        }
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns its address as a URL without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn accept(listener: TcpListener, router: Router) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    connections.spawn(serve(stream, router.clone()));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: tokio::net::TcpStream, router: Router) {
    // A client that goes away in the middle is what many tests are about.
    let _gone = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use futures_util::StreamExt as _;

    use super::*;

    #[tokio::test]
    async fn dropping_the_server_cuts_a_stream_that_is_open() {
        let endless = || async {
            let first = futures_util::stream::iter([Ok::<_, std::io::Error>("hello")]);
            axum::body::Body::from_stream(first.chain(futures_util::stream::pending()))
        };
        let server = LoopbackServer::start(Router::new().route("/", get(endless)));
        let response = crate::http::client()
            .get(server.url())
            .send()
            .await
            .unwrap();
        let mut body = response.bytes_stream();
        assert_eq!(body.next().await.unwrap().unwrap(), "hello");

        drop(server);

        assert!(body.next().await.unwrap().is_err());
    }
}

//! The HTTP client of the tests.

use std::time::Duration;

/// Returns a client for loopback, without a proxy and without a limit on a whole answer (it may be a stream).
pub fn client() -> reqwest::Client {
    // Fails only when a provider is in place already, which is just as good.
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .no_proxy()
        // A connection to a server that was killed meanwhile must not be what a later request fails on.
        .pool_max_idle_per_host(0)
        .connect_timeout(Duration::from_secs(5))
        // Longer than anything may take that is waited for within one request, such as the start of an agent.
        .read_timeout(Duration::from_mins(3))
        .build()
        .expect("the options above are valid together")
}

//! The web app's files, inside the binary.
//!
//! The build script builds the app or, on a machine that cannot, puts a page in its place that says why
//! ([`is_placeholder`]). Debug and release builds embed the same bytes. This crate knows files, not HTTP:
//! the server decides on headers and status codes.

/// One file of the web app.
pub struct Asset {
    /// The path below the app's own root, without a leading slash: `assets/index-C1Qg-pbX.js`.
    pub path: &'static str,
    /// The `Content-Type` to serve it with.
    pub content_type: &'static str,
    /// The content.
    pub bytes: &'static [u8],
    /// The content compressed with brotli, where that pays.
    pub brotli: Option<&'static [u8]>,
    /// The `ETag`, quoted and weak: it holds for the plain and the compressed form.
    pub etag: &'static str,
    /// Whether the path changes with the content, so that browsers may keep it for ever.
    pub immutable: bool,
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Returns the file at `path`, which is relative to the app's root and has no leading slash.
pub fn find(path: &str) -> Option<&'static Asset> {
    let index = ASSETS.binary_search_by(|asset| asset.path.cmp(path)).ok()?;
    ASSETS.get(index)
}

/// Returns all files, sorted by path.
pub fn assets() -> &'static [Asset] {
    ASSETS
}

/// Returns the page that the app starts from.
pub fn index() -> &'static Asset {
    find("index.html").expect("the build script takes no app without an index.html")
}

/// Tells whether this build has a page that says why there is no app, in place of the app.
pub fn is_placeholder() -> bool {
    PLACEHOLDER
}

//! The page that stands in for an app that could not be built.

use std::{fs, io, path::Path};

use super::files;

/// Makes `app` a one-page app that says why there is no other.
pub(crate) fn write(app: &Path, why: &str) -> io::Result<()> {
    files::remove(app)?;
    fs::create_dir_all(app)?;
    fs::write(app.join("index.html"), page(why))
}

fn page(why: &str) -> String {
    let why = why.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        r#"<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>Countersign</title>
  </head>
  <body>
    <main>
      <h1>This build of Countersign has no web app</h1>
      <p>{why}</p>
      <p>Then build <code>countersign</code> again. The command line and the API work without it.</p>
    </main>
  </body>
</html>
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_cannot_break_the_page() {
        assert!(page("<script> & more").contains("&lt;script> &amp; more"));
    }
}

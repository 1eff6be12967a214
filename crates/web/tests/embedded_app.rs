//! What the server relies on when it serves the app under any prefix with `default-src 'self'`.

use countersign_web::{assets, find, index, is_placeholder};

fn page() -> &'static str {
    str::from_utf8(index().bytes).expect("a page is text")
}

#[test]
fn every_asset_is_found_by_its_path() {
    for asset in assets() {
        assert_eq!(find(asset.path).unwrap().etag, asset.etag);
    }
}

#[test]
fn nothing_else_is_found() {
    for path in [
        "",
        "/",
        "/index.html",
        "assets",
        "assets/",
        "../index.html",
        "index.html.br",
        "INDEX.HTML",
    ] {
        assert!(find(path).is_none(), "{path}");
    }
}

#[test]
fn the_index_is_a_page_that_browsers_ask_for_again() {
    assert_eq!(index().content_type, "text/html; charset=utf-8");
    assert!(!index().immutable);
    assert!(page().starts_with("<!doctype html>"));
}

#[test]
fn the_index_has_no_inline_code_or_style() {
    for tag in page().split("<script").skip(1) {
        let (attributes, rest) = tag.split_once('>').unwrap();
        assert!(attributes.contains(" src="), "inline script: {tag}");
        assert!(rest.starts_with("</script>"), "inline script: {tag}");
    }
    for inline in ["<style", " style=", " onload=", " onclick=", "javascript:"] {
        assert!(!page().contains(inline), "{inline}");
    }
}

#[test]
fn the_index_names_only_embedded_files_by_relative_paths() {
    assert!(!page().contains("<base"));
    for attribute in [" src=\"", " href=\""] {
        for url in page()
            .split(attribute)
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
        {
            let path = url
                .strip_prefix("./")
                .unwrap_or_else(|| panic!("`{url}` is not relative"));
            assert!(find(path).is_some(), "`{url}` is not embedded");
        }
    }
}

#[test]
fn an_app_has_its_code_in_files_that_may_be_kept_for_ever() {
    if is_placeholder() {
        assert_eq!(assets().len(), 1);
        return;
    }
    let scripts: Vec<_> = assets()
        .iter()
        .filter(|asset| asset.path.starts_with("assets/index-"))
        .collect();
    assert!(!scripts.is_empty());
    for script in scripts {
        assert!(script.immutable);
        if let Some(brotli) = script.brotli {
            assert!(brotli.len() < script.bytes.len());
        }
    }
}

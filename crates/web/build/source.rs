//! Decides where the app comes from.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{DIST_VARIABLE, Outcome, files};

/// Where the app comes from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A finished build that the environment names.
    Given(PathBuf),
    /// `web/dist`, which is newer than everything it is made of.
    Fresh(PathBuf),
    /// To be built.
    Npm,
}

/// Everything below `web/` that the app is made of; never `node_modules` or `dist`.
const SOURCES: [&str; 9] = [
    "index.html",
    "package.json",
    "package-lock.json",
    "public",
    "scripts",
    "src",
    "tsconfig.app.json",
    "tsconfig.base.json",
    "vite.config.ts",
];

/// The paths that the app is made of, as far as they exist.
pub(crate) fn sources(web: &Path) -> impl Iterator<Item = PathBuf> {
    SOURCES
        .iter()
        .map(|name| web.join(name))
        .filter(|path| path.exists())
}

/// Picks the best source: the `given` directory, else a fresh `web/dist`, else a build with npm.
pub(crate) fn choose(given: Option<PathBuf>, web: &Path) -> Outcome<Source> {
    if let Some(dist) = given {
        if !dist.join("index.html").is_file() {
            return Err(format!(
                "{DIST_VARIABLE} is `{}`, which has no index.html",
                dist.display()
            )
            .into());
        }
        return Ok(Source::Given(dist));
    }
    let dist = web.join("dist");
    let Some(built) = modified(&dist.join("index.html"))? else {
        return Ok(Source::Npm);
    };
    if newest(web)? <= built {
        Ok(Source::Fresh(dist))
    } else {
        Ok(Source::Npm)
    }
}

/// Tells whether `path` is newer than `other`; a missing `path` is not.
pub(crate) fn newer(path: &Path, other: &Path) -> io::Result<bool> {
    Ok(modified(path)? > modified(other)?)
}

fn newest(web: &Path) -> io::Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for source in sources(web) {
        for file in files::below(&source)? {
            newest = newest.max(fs::metadata(file)?.modified()?);
        }
    }
    Ok(newest)
}

fn modified(path: &Path) -> io::Result<Option<SystemTime>> {
    match fs::metadata(path) {
        Ok(metadata) => metadata.modified().map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, time::Duration};

    use super::*;

    fn write(path: &Path, age: u64) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "content").unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_hours(1_000) - Duration::from_secs(age);
        File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(time)
            .unwrap();
    }

    #[test]
    fn a_dist_newer_than_its_sources_is_used_as_it_is() {
        let web = tempfile::tempdir().unwrap();
        write(&web.path().join("src/deep/page.tsx"), 20);
        write(&web.path().join("dist/index.html"), 10);

        assert_eq!(
            choose(None, web.path()).unwrap(),
            Source::Fresh(web.path().join("dist"))
        );
    }

    #[test]
    fn a_dist_older_than_one_source_is_built_anew() {
        let web = tempfile::tempdir().unwrap();
        write(&web.path().join("dist/index.html"), 10);
        write(&web.path().join("src/deep/page.tsx"), 5);

        assert_eq!(choose(None, web.path()).unwrap(), Source::Npm);
    }

    #[test]
    fn without_a_dist_the_app_is_built() {
        let web = tempfile::tempdir().unwrap();
        write(&web.path().join("src/page.tsx"), 5);

        assert_eq!(choose(None, web.path()).unwrap(), Source::Npm);
    }

    #[test]
    fn installed_packages_do_not_make_a_dist_old() {
        let web = tempfile::tempdir().unwrap();
        write(&web.path().join("src/page.tsx"), 20);
        write(&web.path().join("dist/index.html"), 10);
        write(&web.path().join("node_modules/vite/index.js"), 0);

        assert_eq!(
            choose(None, web.path()).unwrap(),
            Source::Fresh(web.path().join("dist"))
        );
    }

    #[test]
    fn the_environment_wins_over_a_fresh_dist() {
        let web = tempfile::tempdir().unwrap();
        write(&web.path().join("dist/index.html"), 10);
        let given = tempfile::tempdir().unwrap();
        write(&given.path().join("index.html"), 50);

        let source = choose(Some(given.path().to_owned()), web.path()).unwrap();

        assert_eq!(source, Source::Given(given.path().to_owned()));
    }

    #[test]
    fn a_given_directory_without_an_app_is_an_error() {
        let empty = tempfile::tempdir().unwrap();

        let error = choose(Some(empty.path().to_owned()), empty.path()).unwrap_err();

        assert!(error.to_string().contains(DIST_VARIABLE), "{error}");
    }
}

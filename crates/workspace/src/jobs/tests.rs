use std::fs;

use tempfile::TempDir;

use super::*;

#[test]
fn a_job_is_found_by_what_fits_it_alone() {
    let root = TempDir::new().unwrap();
    let folder = root.path().join(FOLDER);
    fs::create_dir_all(&folder).unwrap();
    for (slug, name) in [
        ("ws-nightly", "Nightly report"),
        ("ws-weekly", "Weekly report"),
    ] {
        let job = format!("{{\"slug\": \"{slug}\", \"name\": \"{name}\", \"schedule\": \"x\"}}");
        fs::write(folder.join(format!("{slug}.json")), job).unwrap();
    }
    fs::write(folder.join("broken.json"), "{").unwrap();
    fs::write(folder.join("other.json"), "{\"slug\": 1}").unwrap();
    let home = Home::new(root.path());
    assert_eq!(home.jobs().unwrap().len(), 2);
    let slug = |name: &str| home.job(name).map(|job| job.slug().to_owned());
    for name in ["ws-nightly", "nightly", "Nightly Report", " nightly rep "] {
        assert_eq!(slug(name).unwrap(), "ws-nightly", "{name}");
    }
    assert_eq!(slug("report").unwrap_err().code, "job_ambiguous");
    assert_eq!(slug("zzz").unwrap_err().message, "Job \"zzz\" not found.");
    assert_eq!(slug(" ").unwrap_err().code, "job_name_required");
}

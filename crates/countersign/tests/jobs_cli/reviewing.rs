//! `review` and `adversarial-review`: what the reviewer is told, and what its verdict is shown as.

use crate::place::Place;

const VERDICT: &str = r#"{"verdict":"needs-attention","summary":"Not yet.","findings":[{"severity":"high","title":"It is wrong","body":"Always.","file":"a.txt","line_start":1,"line_end":2,"confidence":0.8,"recommendation":"Mend it."}],"next_steps":["Mend it"]}"#;

#[tokio::test]
async fn changes_are_reviewed_and_the_verdict_is_shown_now_and_later() {
    let place = Place::new();
    let review = ["adversarial-review", "--engine", "demo"];
    let nothing = place.run(&["review", "--scope", "working-tree"]).await;
    assert!(
        nothing
            .expect_success()
            .stdout
            .starts_with("Nothing to review"),
        "{nothing:?}"
    );

    std::fs::write(place.path("repo/a.txt"), "uno\n").unwrap();
    std::fs::write(place.path("repo/new.txt"), "not tracked\n").unwrap();
    // The demo agent says what a line of its prompt tells it to.
    let focus = format!("the numbers\nSAY {VERDICT}");
    let done = place.run(&[&review[..], &[&focus]].concat()).await;
    let shown = "## Review Verdict: NEEDS ATTENTION\n\nNot yet.\n\n### Findings (1)\n\n#### HIGH: It is wrong\n\
                 - **File**: a.txt:1-2\n- **Confidence**: 80%\n- Always.\n- **Recommendation**: Mend it.\n\n\
                 ### Next Steps\n\n- Mend it\n";
    assert_eq!(done.expect_success().stdout, shown);
    let told = place.run(&["result", "--json"]).await;
    let told = told.expect_success().json();
    let id = told["job"]["id"].as_str().unwrap();
    assert!(id.starts_with("adversarial-review-"), "{id}");
    assert_eq!(told["job"]["type"], "adversarial-review");
    assert_eq!(told["job"]["write"], false);
    let prompt = told["storedJob"]["prompt"].as_str().unwrap();
    for part in ["-one\n+uno\n", "+++ b/new.txt\n", "<focus>\nthe numbers\n"] {
        assert!(prompt.contains(part), "no {part:?} in {prompt}");
    }
    let later = place.run(&["result", id]).await;
    assert!(
        later.expect_success().stdout.contains(shown.trim_end()),
        "{later:?}"
    );

    let begun = place
        .run(&[
            "review",
            "--engine",
            "demo",
            "--background",
            "--scope",
            "working-tree",
        ])
        .await;
    let first = begun.expect_success().stdout.lines().next().unwrap();
    assert!(
        first.starts_with("demo review started in background: review-"),
        "{first}"
    );
}

#[tokio::test]
async fn a_review_outside_a_repository_or_against_nothing_is_refused() {
    let place = Place::new();
    let outside = place.run_in("elsewhere", &["review"]).await;
    outside.expect_code(1);
    assert!(
        outside.stderr.contains("in no git repository"),
        "{outside:?}"
    );
    let against = place.run(&["review", "--base", "nowhere"]).await;
    against.expect_code(1);
    assert!(
        against.stderr.contains("`nowhere` is no commit"),
        "{against:?}"
    );
    // A review takes no words of its own; the other one does.
    place.run(&["review", "the", "cache"]).await.expect_code(1);
    assert!(place.server().is_none(), "nothing was started for that");
}

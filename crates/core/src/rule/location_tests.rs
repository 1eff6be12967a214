//! Rules and where a tool acts: folders, links, several files at once.

use proptest::prelude::*;

use super::*;
use crate::actor::ActorKind;
use crate::ask::NamedFile;
use crate::id::ActorId;

const START: Timestamp = Timestamp::from_micros(1_000_000);

fn inside(path: &str) -> ResolvedFile {
    ResolvedFile::Inside {
        path: path.to_owned(),
    }
}

fn outside(path: &str) -> ResolvedFile {
    ResolvedFile::Outside {
        path: path.to_owned(),
    }
}

fn edit(files: &[(&str, ResolvedFile)]) -> Subject {
    let named = |(named, file): &(&str, ResolvedFile)| NamedFile {
        named: (*named).to_owned(),
        file: file.clone(),
    };
    Subject::Permission {
        tool: "edit".to_owned(),
        targets: files.iter().map(|(named, _)| (*named).to_owned()).collect(),
        location: Location {
            files: files.iter().map(named).collect(),
            root: "/ws".to_owned(),
            ..Location::default()
        },
        shown: vec![],
    }
}

fn command(folder: Folder) -> Subject {
    Subject::Permission {
        tool: "bash".to_owned(),
        targets: vec!["sh ./build.sh".to_owned()],
        location: Location {
            folder,
            ..Location::default()
        },
        shown: vec![],
    }
}

fn other(path: &str) -> Folder {
    Folder::Other {
        path: path.to_owned(),
    }
}

fn rule(tool: &str, verdict: Verdict, matcher: Matcher) -> Rule {
    Rule {
        id: RuleId::generate(START),
        workspace: workspace(),
        session: None,
        tool: tool.to_owned(),
        verdict,
        matcher,
        made_by: Actor {
            id: ActorId::generate(START),
            kind: ActorKind::Person,
            name: "ada".to_owned(),
        },
        made_at: START,
        made_from: None,
        expires_at: None,
        revoked_at: None,
    }
}

fn workspace() -> WorkspaceId {
    "ws_00000000000000000000000001"
        .parse()
        .expect("it is an id")
}

fn glob(pattern: &str) -> Matcher {
    Matcher::Glob {
        pattern: pattern.to_owned(),
    }
}

fn matches(rule: &Rule, subject: &Subject) -> bool {
    rule.matches(rule.workspace, SessionId::generate(START), subject)
}

#[test]
fn an_always_for_a_command_is_for_the_folder_that_it_was_shown_in() {
    let folders = [
        Folder::Session,
        other("/srv/a"),
        other("/srv/b"),
        Folder::Unknown {
            named: "~".to_owned(),
        },
    ];
    for made in &folders[..3] {
        let (tool, matcher) = always(&command(made.clone()), None).unwrap();
        let rule = rule(&tool, Verdict::Allow, matcher);
        for asked in &folders {
            assert_eq!(
                matches(&rule, &command(asked.clone())),
                made == asked,
                "{made:?} {asked:?}"
            );
        }
    }
    assert!(matches!(
        always(&command(folders[3].clone()), None),
        Err(UnfitRule::UnknownLocation { .. })
    ));
}

#[test]
fn a_rule_from_before_folders_were_known_means_the_folder_of_the_session() {
    let stored = r#"{"match":"exact","targets":["sh ./build.sh"]}"#;
    let matcher: Matcher = serde_json::from_str(stored).unwrap();
    assert_eq!(serde_json::to_string(&matcher).unwrap(), stored);
    let rule = rule("bash", Verdict::Allow, matcher);
    assert!(matches(&rule, &command(Folder::Session)));
    assert!(!matches(&rule, &command(other("/srv/a"))));
}

#[test]
fn a_denial_of_a_command_holds_in_every_folder() {
    let exact = Matcher::exactly(vec!["sh ./build.sh".to_owned()]);
    let rule = rule("bash", Verdict::Deny, exact);
    let unknown = Folder::Unknown {
        named: String::new(),
    };
    for folder in [Folder::Session, other("/srv/a"), unknown] {
        assert!(matches(&rule, &command(folder)));
    }
}

#[test]
fn a_denial_is_not_walked_around_with_a_second_file_a_link_or_dots() {
    let denials = [
        rule("edit", Verdict::Deny, glob("secrets/**")),
        rule(
            "edit",
            Verdict::Deny,
            Matcher::exactly(vec!["secrets/key".to_owned()]),
        ),
    ];
    for deny in &denials {
        for denied in [
            edit(&[("secrets/key", inside("secrets/key"))]),
            edit(&[
                ("a.rs", inside("a.rs")),
                ("secrets/key", inside("secrets/key")),
            ]),
            edit(&[("link", inside("secrets/key"))]),
            edit(&[("src/../secrets/key", inside("secrets/key"))]),
            edit(&[("what", ResolvedFile::Unknown)]),
            // A link that leads elsewhere has the denied name all the same.
            edit(&[("secrets/key", inside("public/key"))]),
        ] {
            assert!(matches(deny, &denied), "{:?} {denied:?}", deny.matcher);
        }
        assert!(!matches(deny, &edit(&[("a.rs", inside("a.rs"))])));
    }
    // By any name that a file has.
    let anywhere = rule("edit", Verdict::Deny, glob("**/.env"));
    assert!(matches(
        &anywhere,
        &edit(&[("l", outside("/home/me/.env"))])
    ));
    let absolute = rule("edit", Verdict::Deny, glob("/ws/secrets/**"));
    assert!(matches(
        &absolute,
        &edit(&[("link/key", inside("secrets/key"))])
    ));
}

#[test]
fn a_denial_holds_for_what_is_not_known() {
    let deny = rule(
        "toy_deploy",
        Verdict::Deny,
        Matcher::exactly(vec!["*".to_owned()]),
    );
    let deploy = |targets: &[&str]| Subject::Permission {
        tool: "toy_deploy".to_owned(),
        targets: targets.iter().map(|it| (*it).to_owned()).collect(),
        location: Location::default(),
        shown: vec![],
    };
    assert!(matches(&deny, &deploy(&["*", r#"{"to":"prod/1"}"#])));
    assert!(matches(&deny, &deploy(&[])));
}

#[test]
fn a_leave_is_not_stretched_by_a_second_file_a_link_or_the_rest_of_the_disk() {
    let everything = rule("edit", Verdict::Allow, glob("**"));
    let source = rule("edit", Verdict::Allow, glob("src/**"));
    let exact = rule(
        "edit",
        Verdict::Allow,
        Matcher::exactly(vec!["src/a.rs".to_owned()]),
    );
    let plain = edit(&[("src/a.rs", inside("src/a.rs"))]);
    for rule in [&everything, &source, &exact] {
        assert!(matches(rule, &plain));
        for stretched in [
            edit(&[("src/a.rs", outside("/etc/passwd"))]),
            edit(&[("src/a.rs", ResolvedFile::Unknown)]),
            edit(&[("src/a.rs", inside("src/a.rs")), ("b", outside("/b"))]),
        ] {
            assert!(
                !matches(rule, &stretched),
                "{:?} {stretched:?}",
                rule.matcher
            );
        }
    }
    assert!(!matches(
        &source,
        &edit(&[("src/a.rs", inside("other.rs"))])
    ));
    assert!(!matches(&exact, &edit(&[("src/a.rs", inside("other.rs"))])));
    // Who names the disk means it.
    let elsewhere = rule("edit", Verdict::Allow, glob("/srv/shared/**"));
    assert!(matches(
        &elsewhere,
        &edit(&[("../shared/a", outside("/srv/shared/a"))])
    ));
}

#[test]
fn an_always_for_a_link_is_for_where_it_leads() {
    let (tool, matcher) = always(&edit(&[("link", outside("/srv/a"))]), None).unwrap();
    let rule = rule(&tool, Verdict::Allow, matcher);
    assert!(matches(&rule, &edit(&[("link", outside("/srv/a"))])));
    assert!(!matches(&rule, &edit(&[("link", outside("/srv/b"))])));
    assert!(!matches(&rule, &edit(&[("link", inside("link"))])));
}

fn a_file() -> impl Strategy<Value = ResolvedFile> {
    prop_oneof![
        "[ab]{1,2}(/[ab]{1,2}){0,2}".prop_map(|path| ResolvedFile::Inside { path }),
        "/[ab]{1,2}(/[ab]{1,2}){0,2}".prop_map(|path| ResolvedFile::Outside { path }),
        Just(ResolvedFile::Unknown),
    ]
}

fn a_named_file() -> impl Strategy<Value = (String, ResolvedFile)> {
    ("[ab./]{1,6}", a_file())
}

fn a_matcher() -> impl Strategy<Value = Matcher> {
    prop_oneof![
        prop::sample::select(vec!["**", "*", "a/**", "a/*", "/a/**", "**/b", "b"]).prop_map(glob),
        prop::collection::vec("[ab./]{1,6}", 1..3).prop_map(Matcher::exactly),
    ]
}

fn a_rule() -> impl Strategy<Value = Rule> {
    (a_matcher(), any::<bool>()).prop_map(|(matcher, denies)| {
        let verdict = if denies {
            Verdict::Deny
        } else {
            Verdict::Allow
        };
        rule("edit", verdict, matcher)
    })
}

/// What the rules say about a change of `files`; nothing if a person is asked.
fn decided(rules: &[Rule], files: &[(String, ResolvedFile)]) -> Option<Verdict> {
    let files: Vec<_> = files
        .iter()
        .map(|(named, file)| (named.as_str(), file.clone()))
        .collect();
    let session = SessionId::generate(START);
    let decided = decide(rules, workspace(), session, &edit(&files), START);
    decided.map(|rule| rule.verdict)
}

fn is_allowed(rules: &[Rule], files: &[(String, ResolvedFile)]) -> bool {
    decided(rules, files) == Some(Verdict::Allow)
}

fn is_denied(rules: &[Rule], files: &[(String, ResolvedFile)]) -> bool {
    decided(rules, files) == Some(Verdict::Deny)
}

proptest! {
    #[test]
    fn one_more_file_never_makes_a_leave_of_a_denial(
        rules in prop::collection::vec(a_rule(), 1..6),
        files in prop::collection::vec(a_named_file(), 1..4),
        more in a_named_file(),
        place in 0..4_usize,
    ) {
        let mut with_more = files.clone();
        with_more.insert(place.min(files.len()), more);
        if is_denied(&rules, &files) {
            prop_assert!(is_denied(&rules, &with_more));
        }
    }

    #[test]
    fn a_link_in_the_place_of_a_file_never_makes_a_leave_of_a_denial_by_name(
        rules in prop::collection::vec(a_rule(), 1..6),
        files in prop::collection::vec(a_named_file(), 1..4),
        link in a_file(),
        place in 0..4_usize,
    ) {
        // Denied by the names alone, wherever they lead.
        let plain: Vec<_> = files
            .iter()
            .map(|(named, _)| (named.clone(), ResolvedFile::Inside { path: named.clone() }))
            .collect();
        let mut linked = plain.clone();
        let place = place.min(linked.len() - 1);
        linked[place].1 = link;
        if is_denied(&rules, &plain) {
            prop_assert!(!is_allowed(&rules, &linked));
        }
    }

    #[test]
    fn one_more_rule_never_makes_a_leave_of_a_denial(
        rules in prop::collection::vec(a_rule(), 1..6),
        more in a_rule(),
        files in prop::collection::vec(a_named_file(), 1..4),
    ) {
        let mut with_more = rules.clone();
        with_more.push(more);
        if is_denied(&rules, &files) {
            prop_assert!(is_denied(&with_more, &files));
        }
    }

    #[test]
    fn nothing_with_a_file_that_is_not_known_is_ever_allowed(
        rules in prop::collection::vec(a_rule(), 1..6),
        files in prop::collection::vec(a_named_file(), 0..3),
        named in "[ab./]{1,6}",
    ) {
        let mut files = files;
        files.push((named, ResolvedFile::Unknown));
        prop_assert!(!is_allowed(&rules, &files));
    }
}

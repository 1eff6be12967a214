use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

fn receiver(takes: Option<Takes>, directory: &Path) -> Receiver {
    Receiver {
        agent: "Plain agent".to_owned(),
        takes,
        directory: directory.to_str().unwrap().to_owned(),
    }
}

fn png(bytes: &[u8]) -> AttachmentWish {
    AttachmentWish::Image {
        name: None,
        image_type: ImageType::Png,
        bytes: bytes.to_vec(),
    }
}

fn text(name: &str, length: usize) -> AttachmentWish {
    AttachmentWish::Text {
        name: name.to_owned(),
        text: "a".repeat(length),
    }
}

fn refusal(wishes: Vec<AttachmentWish>, takes: Option<Takes>) -> String {
    let receiver = receiver(takes, Path::new("/nonexistent"));
    let refused = attach(wishes, &receiver, Timestamp::from_micros(0));
    refused.unwrap_err().to_string()
}

#[test]
fn an_image_is_for_an_agent_that_says_that_it_takes_images() {
    assert_eq!(
        refusal(vec![png(PNG)], Some(Takes::default())),
        "`attachments` have an image, and Plain agent takes no images"
    );
    assert!(refusal(vec![png(PNG)], None).contains("has not said whether"));
    assert_eq!(
        refusal(vec![png(b"<svg onload=alert(1)>")], Some(Takes::ALL)),
        "`attachments` have `image`, which is no image/png"
    );
    let receiver = receiver(Some(Takes::ALL), Path::new("/nonexistent"));
    let taken = attach(vec![png(PNG)], &receiver, Timestamp::from_micros(0)).unwrap();
    assert_eq!(taken[0].bytes.as_deref(), Some(PNG));
}

#[test]
fn there_is_a_limit_to_their_number_and_their_size() {
    let many = (0..=MOST).map(|_| text("a", 1)).collect();
    assert!(refusal(many, None).contains("at most 10"));
    assert!(
        refusal(vec![text("big.txt", LARGEST + 1)], None)
            .contains("`big.txt`, which is larger than 5 MiB")
    );
    let together = (0..5).map(|_| text("a", LARGEST)).collect();
    assert!(refusal(together, None).contains("larger than 20 MiB together"));
}

#[test]
fn a_name_is_something_that_can_be_shown() {
    for name in ["", "  ", "a\nb", &"a".repeat(LONGEST_NAME + 1)] {
        let refused = refusal(vec![text(name, 1)], None);
        assert!(refused.contains("name"), "{refused}");
    }
}

#[test]
fn a_file_comes_with_its_content_where_the_agent_takes_it_and_it_is_small() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a.rs"), "fn a() {}").unwrap();
    std::fs::write(root.path().join("a.bin"), [0, 1, 2]).unwrap();
    std::fs::write(root.path().join("a.png"), PNG).unwrap();
    let large = "a".repeat(usize::try_from(LARGEST_READ).unwrap() + 1);
    std::fs::write(root.path().join("large.txt"), large).unwrap();
    let kept = |name: &str, takes| {
        let wish = AttachmentWish::File {
            path: name.to_owned(),
        };
        let receiver = receiver(takes, root.path());
        let mut taken = attach(vec![wish], &receiver, Timestamp::from_micros(0)).unwrap();
        let taken = taken.remove(0);
        assert_eq!(taken.attachment.kept, taken.bytes.is_some());
        assert_eq!(taken.attachment.name, name);
        taken.attachment.media_type
    };
    let all = Some(Takes::ALL);
    assert_eq!(kept("a.rs", all).as_deref(), Some("text/plain"));
    assert_eq!(kept("a.png", all).as_deref(), Some("image/png"));
    assert_eq!(kept("a.bin", all), None);
    assert_eq!(kept("large.txt", all), None);
    for takes in [None, Some(Takes::default())] {
        assert_eq!(kept("a.rs", takes), None);
        assert_eq!(kept("a.png", takes), None);
    }
}

#[test]
fn a_name_cannot_leave_its_tag() {
    let attachment = Attachment {
        id: AttachmentId::generate(Timestamp::from_micros(0)),
        kind: AttachmentKind::Text,
        name: "a\"><b>&".to_owned(),
        media_type: None,
        size: 1,
        kept: true,
    };
    assert_eq!(
        pointed_at(&attachment),
        "<attached_text name=\"a&quot;>&lt;b>&amp;\"/>"
    );
}

use super::*;

fn frame(tag: Option<&str>) -> Frame {
    Frame {
        tag: tag.map(Into::into),
        bytes: Bytes::from_static(b"x"),
    }
}

fn hold() -> (Hold, u64) {
    let hold = Hold::new(100, Flow::Open);
    let attachment = hold.attach(0).unwrap().number;
    (hold, attachment)
}

#[test]
fn a_tag_is_accepted_once_and_known_from_then_on() {
    let (hold, attachment) = hold();
    assert_eq!(
        hold.offer(attachment, &frame(Some("a"))),
        Offer::Accepted(1)
    );
    assert_eq!(hold.offer(attachment, &frame(Some("a"))), Offer::Wait);
    assert_eq!(hold.offer(attachment, &frame(None)), Offer::Wait);
    hold.settle_frame(Ok(()));
    assert_eq!(hold.offer(attachment, &frame(Some("a"))), Offer::Known);
    assert_eq!(hold.offer(attachment, &frame(None)), Offer::Accepted(2));
    hold.settle_frame(Ok(()));
    assert_eq!(hold.offer(attachment, &frame(None)), Offer::Accepted(3));
}

#[test]
fn a_frame_that_could_not_be_written_is_not_said_to_be_known() {
    let (hold, attachment) = hold();
    hold.offer(attachment, &frame(Some("a")));
    hold.settle_frame(Ok(()));
    hold.offer(attachment, &frame(Some("b")));
    hold.settle_frame(Err(std::io::ErrorKind::BrokenPipe.into()));
    assert_eq!(hold.offer(attachment, &frame(Some("b"))), Offer::Over);
    assert_eq!(hold.offer(attachment, &frame(Some("a"))), Offer::Known);
    assert_eq!(*hold.attach(0).unwrap().tags, ["a".into()]);
}

#[test]
fn what_an_older_attachment_says_is_not_heard() {
    let (hold, older) = hold();
    hold.state
        .send_modify(|state| state.spool.append(b"printed"));
    let newer = hold.attach(0).unwrap().number;
    assert_eq!(hold.offer(older, &frame(None)), Offer::Displaced);
    hold.acknowledge(older, 7);
    hold.close_input_for(older);
    assert_eq!(hold.state.borrow().spool.oldest(), 0);
    assert_eq!(hold.state.borrow().input, Flow::Open);

    hold.acknowledge(newer, 7);
    hold.close_input_for(newer);
    assert_eq!(hold.state.borrow().spool.oldest(), 7);
    assert_eq!(hold.offer(newer, &frame(None)), Offer::Over);
}

#[test]
fn an_attachment_out_of_reach_displaces_nobody() {
    let (hold, attachment) = hold();
    hold.state
        .send_modify(|state| state.spool.append(b"printed"));
    hold.acknowledge(attachment, 3);
    let there = OutOfReach { oldest: 3, end: 7 };
    assert_eq!(hold.attach(2).unwrap_err(), there);
    assert_eq!(hold.attach(8).unwrap_err(), there);
    assert!(matches!(
        hold.offer(attachment, &frame(None)),
        Offer::Accepted(_)
    ));
}

#[test]
fn output_is_taken_when_it_is_over_and_acknowledged() {
    let (hold, attachment) = hold();
    assert!(!hold.is_output_taken(), "there may be more");
    hold.state.send_modify(|state| {
        state.spool.append(b"printed");
        state.output = Flow::Over;
    });
    assert!(!hold.is_output_taken());
    hold.acknowledge(attachment, 7);
    assert!(hold.is_output_taken());
    assert!(Hold::of_nothing().is_output_taken());
}

//! Words that are looked for in transcripts: found whatever their case, newest first, a stretch at a time.

use countersign_core::session::Item;

use super::backend::each_backend;
use super::scene::{Scene, at};
use crate::{Place, Store};

async fn say(store: &Store, scene: &Scene, second: u64, words: &str) {
    let item = Item::Text {
        text: words.to_owned(),
    };
    let native_id = format!("prt_{second}");
    let put = store.put_item(
        scene.workspace,
        scene.session,
        &native_id,
        &item,
        at(second),
    );
    put.await.unwrap();
}

/// Everything that holds `words`, looked for `stretch` items at a time, and how many were looked at.
async fn found(store: &Store, words: &[&str], stretch: i64, limit: i64) -> (Vec<i64>, u64) {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let (mut seqs, mut count) = (Vec::new(), 0);
    let mut before: Option<Place> = None;
    loop {
        let looked = store.look_for(&words, None, before.as_ref(), stretch, limit);
        let looked = looked.await.unwrap();
        seqs.extend(looked.passages.iter().map(|passage| passage.item.seq));
        count += looked.count;
        let Some(end) = looked.end else {
            return (seqs, count);
        };
        // A place is told to clients, and comes back.
        before = Some(end.to_string().parse().unwrap());
    }
}

#[tokio::test]
async fn all_words_are_found_newest_first_however_much_is_looked_at_at_once() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let said = [
            "The pond is frozen",
            "100% of it",
            "a POND, and a \"quoted\" word",
            "nothing",
            "under_score and pond",
        ];
        for (second, words) in (1..).zip(said) {
            say(&store, &scene, second, words).await;
        }
        for (stretch, limit) in [(1, 10), (2, 10), (5, 10), (100, 10), (100, 1), (3, 1)] {
            let found = async |words: &[&str]| found(&store, words, stretch, limit).await;
            assert_eq!(found(&["pond"]).await, (vec![5, 3, 1], 5), "{stretch}");
            assert_eq!(found(&["Pond", "FROZEN"]).await.0, [1]);
            // What means something to the database means nothing here.
            assert_eq!(found(&["%"]).await.0, [2]);
            assert_eq!(found(&["under_"]).await.0, [5]);
            assert_eq!(found(&["p_nd"]).await.0, [0_i64; 0]);
            assert_eq!(found(&["\"quoted\""]).await.0, [3]);
            assert_eq!(found(&["!"]).await, (vec![], 5));
        }
    })
    .await;
}

#[tokio::test]
async fn one_workspace_does_not_hold_what_was_said_in_another() {
    each_backend(async |store| {
        let here = Scene::new(&store).await;
        let there = Scene::at_path(&store, "/home/bob/other").await;
        say(&store, &here, 1, "the secret of here").await;
        say(&store, &there, 2, "the secret of there").await;
        let words = ["secret".to_owned()];
        let looked = store.look_for(&words, Some(here.workspace), None, 100, 10);
        let passages = looked.await.unwrap().passages;
        let places: Vec<_> = passages
            .iter()
            .map(|it| (it.workspace, it.session))
            .collect();
        assert_eq!(places, [(here.workspace, here.session)]);
    })
    .await;
}

#[test]
fn what_is_no_place_is_not_taken_for_one() {
    for text in ["", "1", "1.session_x.1", "a.b.c", "1..2"] {
        assert_eq!(text.parse::<Place>(), Err(()), "{text}");
    }
}

#[tokio::test]
async fn slow_twenty_thousand_items_are_looked_through_a_stretch_at_a_time() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let words = "the quick brown fox jumps over the lazy dog ".repeat(12);
        for batch in 0..40_u64 {
            let items: Vec<_> = (0..500)
                .map(|number| {
                    let text = if (batch, number) == (0, 0) {
                        format!("{words} Heliotrope")
                    } else {
                        format!("{words} {batch} {number}")
                    };
                    (format!("prt_{batch}_{number}"), Item::Text { text })
                })
                .collect();
            let put = store.put_items(scene.workspace, scene.session, &items, at(batch));
            assert_eq!(put.await.unwrap(), 500);
        }
        let (seqs, count) = found(&store, &["heliotrope"], 2_000, 50).await;
        assert_eq!((seqs, count), (vec![1], 20_000));
    })
    .await;
}

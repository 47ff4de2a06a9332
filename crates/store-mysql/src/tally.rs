//! The part of a card that every message changes: the counts and the leaf. A line that changes nothing else of the card stores
//! them in its own row, so that the session's row does not need an update.

use osier_tree::projection::card::Card;

/// Increment this whenever the numbers or their order change. Records of other versions are ignored.
const FORMAT_VERSION: u8 = 1;

const NUMBER_COUNT: usize = 6;

pub(crate) const RECORD_BYTES: usize = 1 + 8 * NUMBER_COUNT;

/// The card update of an entry. `None` if the entry changes anything else, or is not the new leaf.
pub(crate) fn encode(before: &Card, after: &Card, entry: &str) -> Option<[u8; RECORD_BYTES]> {
    let mut record = [0; RECORD_BYTES];
    record[0] = FORMAT_VERSION;
    let numbers = [
        after.entry_count,
        after.message_count,
        after.branches,
        after.tokens,
        after.modified.cast_unsigned(),
        after.cost.to_bits(),
    ];
    for (number, bytes) in numbers.iter().zip(record[1..].as_chunks_mut::<8>().0) {
        *bytes = number.to_le_bytes();
    }
    let updated = apply_record(before.clone(), &record, entry.as_bytes())?;
    (updated == *after).then_some(record)
}

/// Applies an entry's update, a record followed by the entry's id, to a card. `None` if another version wrote it.
pub(crate) fn apply(card: Card, added: &[u8]) -> Option<Card> {
    let (record, entry) = added.split_first_chunk()?;
    apply_record(card, record, entry)
}

fn apply_record(card: Card, record: &[u8; RECORD_BYTES], entry: &[u8]) -> Option<Card> {
    let entry = std::str::from_utf8(entry).ok()?;
    let numbers = record[1..].as_chunks::<8>().0;
    let number = |at: usize| u64::from_le_bytes(numbers[at]);
    (record[0] == FORMAT_VERSION).then(|| Card {
        entry_count: number(0),
        message_count: number(1),
        branches: number(2),
        tokens: number(3),
        modified: number(4).cast_signed(),
        cost: f64::from_bits(number(5)),
        leaf_id: Some(entry.to_owned()),
        ..card
    })
}

#[cfg(test)]
mod tests {
    use osier_tree::Header;
    use osier_tree::projection::card::Card;

    use super::{RECORD_BYTES, apply, encode};

    fn card() -> Card {
        Card::new(&Header::new("one", 1_767_225_600_000, "/here"), "team")
    }

    fn added(record: [u8; RECORD_BYTES]) -> Vec<u8> {
        [&record[..], b"c"].concat()
    }

    #[test]
    fn counts_and_leaf_round_trip() {
        let after = Card {
            entry_count: 3,
            message_count: 2,
            branches: 1,
            tokens: u64::MAX,
            modified: -5,
            cost: 0.1 + 0.2,
            leaf_id: Some("c".to_owned()),
            ..card()
        };
        let record = encode(&card(), &after, "c").unwrap();
        assert_eq!(apply(card(), &added(record)), Some(after));
    }

    #[test]
    fn other_changes_to_the_card_have_no_tally() {
        let after = Card { leaf_id: Some("c".to_owned()), ..card() };
        assert!(encode(&card(), &after, "c").is_some());
        assert!(encode(&card(), &after, "d").is_none());
        for changed in [
            Card { name: Some("a name".to_owned()), ..after.clone() },
            Card { first_message: "said".to_owned(), ..after.clone() },
            Card { agent_id: "other".to_owned(), ..after.clone() },
            Card { leaf_id: None, ..after },
        ] {
            assert!(encode(&card(), &changed, "c").is_none(), "{changed:?}");
        }
    }

    #[test]
    fn records_of_other_versions_are_ignored() {
        let after = Card { leaf_id: Some("c".to_owned()), ..card() };
        let mut record = encode(&card(), &after, "c").unwrap();
        assert_eq!(apply(card(), &record[1..]), None);
        record[0] += 1;
        assert_eq!(apply(card(), &added(record)), None);
    }
}

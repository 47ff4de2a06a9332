//! The tree as nested nodes, written without recursion: a chain may be very deep.

use osier_protocol::{Seq, SessionTree, time};
use serde_json::Value;
use serde_json::value::RawValue;

/// The entries that are not in deleted branches, each with its children, its label, and the time of the label.
pub(crate) fn tree_json(tree: &SessionTree, entries: &[Option<Box<RawValue>>]) -> String {
    let hidden = tree.hidden_entries();
    let shown = |seqs: &[Seq]| -> Vec<Seq> {
        seqs.iter().rev().copied().filter(|seq| !hidden.contains(seq)).collect()
    };
    let mut json = String::from("[");
    let mut waiting: Vec<Step> = shown(tree.children().roots()).into_iter().map(Step::Open).collect();
    while let Some(step) = waiting.pop() {
        match step {
            Step::Open(seq) => {
                let entry =
                    entries.get(seq.index()).and_then(Option::as_ref).map_or("null", |entry| entry.get());
                if json.ends_with('}') {
                    json.push(',');
                }
                json.push_str("{\"entry\":");
                json.push_str(entry);
                json.push_str(",\"children\":[");
                waiting.push(Step::Close(seq));
                waiting.extend(shown(tree.children().of_entry(seq)).into_iter().map(Step::Open));
            }
            Step::Close(seq) => {
                json.push(']');
                push_label(tree, seq, &mut json);
                json.push('}');
            }
        }
    }
    json.push(']');
    json
}

enum Step {
    Open(Seq),
    Close(Seq),
}

fn push_label(tree: &SessionTree, seq: Seq, json: &mut String) {
    let Some(label) = tree.label(seq) else { return };
    json.push_str(",\"label\":");
    json.push_str(&Value::from(label.text.as_str()).to_string());
    if let Some(millis) = tree.head(label.set_by).time() {
        json.push_str(",\"labelTimestamp\":");
        json.push_str(&Value::from(time::format(millis)).to_string());
    }
}

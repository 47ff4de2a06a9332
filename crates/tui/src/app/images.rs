//! Images that a prompt names: `@shot.png`, or the bare path that a file manager pastes. They go along with the text, which
//! stays as it is; what is no image is for the model to read.

use osier_model::Image;
use osier_tools::{Content, Env, ToolCall, ToolContext, Toolbox, Tools};
use serde_json::json;

const ENDINGS: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];

/// Reads them as the tool does that the model reads images with. A path that leads nowhere is only a word.
pub(super) async fn named_in(text: &str, cwd: &str) -> Vec<Image> {
    let context = ToolContext::new(cwd, cwd, Env::default());
    let mut images = Vec::new();
    for path in paths(text) {
        let call =
            ToolCall { id: String::new(), name: "read".to_owned(), arguments: json!({ "path": path }) };
        for block in Tools::standard().run(call, &context).await.content {
            if let Content::Image { data, mime_type } = block {
                images.push(Image { data, mime_type });
            }
        }
    }
    images
}

fn paths(text: &str) -> Vec<&str> {
    let words = text.split_whitespace().map(|word| word.trim_matches(['\'', '"', ',', '(', ')']));
    let is_image = |word: &&str| ENDINGS.iter().any(|ending| word.to_lowercase().ends_with(ending));
    let named = |word: &&str| word.starts_with('@') || word.contains('/');
    words.filter(is_image).filter(named).map(|word| word.trim_start_matches('@')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;

    #[test]
    fn only_what_is_meant_as_an_image_is_one() {
        assert_eq!(paths("see @a.png, './b.JPG' and c.png at http x/y.txt"), ["a.png", "./b.JPG"]);
    }

    #[tokio::test]
    async fn an_image_goes_along_and_what_is_not_there_is_a_word() {
        let folder = tempfile::tempdir().unwrap();
        let point = "R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=";
        let point = base64::engine::general_purpose::STANDARD.decode(point).unwrap();
        std::fs::write(folder.path().join("dot.gif"), point).unwrap();
        let images = named_in("what is @dot.gif and @gone.png?", &folder.path().to_string_lossy()).await;
        assert_eq!(images.len(), 1);
        assert!(images[0].mime_type.starts_with("image/"), "{}", images[0].mime_type);
    }
}

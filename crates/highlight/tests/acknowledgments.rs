//! The licenses of the grammars ask to be named. `ACKNOWLEDGMENTS.md` is made from what the crate of the grammars says.

use std::fmt::Write;

#[test]
fn the_authors_of_the_grammars_are_named() {
    let mut text = String::from(
        "# Acknowledgments\n\nOsier highlights code with grammars that other people wrote. These are the licenses that ask to be \
         named.\n",
    );
    let listing = two_face::acknowledgement::listing();
    for license in listing.for_syntaxes() {
        let place = license.rel_path.display();
        write!(text, "\n## {place}\n\n````text\n{}\n````\n", license.text.trim_end()).unwrap();
    }
    expect_test::expect_file!["../../../ACKNOWLEDGMENTS.md"].assert_eq(&text);
}

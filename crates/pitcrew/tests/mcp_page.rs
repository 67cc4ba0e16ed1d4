//! `docs/mcp.md` says of each tool what its definition says.
#![cfg(feature = "mcp")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

use pitcrew_runtime::tools::{View, markdown};

#[test]
fn the_page_has_the_table_of_tools_as_they_are_defined() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mcp.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let table = markdown();
    assert!(
        page.contains(&table),
        "docs/mcp.md does not have this table:\n{table}"
    );
    for view in View::ALL {
        let row = format!("| `pitcrew://<team>/{}` | {} |", view.word(), view.about());
        assert!(
            page.contains(&row),
            "docs/mcp.md does not have this row:\n{row}"
        );
    }
}

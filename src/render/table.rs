//! A Kubernetes `Table` as kubectl prints it.
//!
//! Column rules: kubectl's tab writer pads a cell to the widest of its column plus three spaces, at least six in all, and
//! leaves the last cell alone; columns of priority above zero belong to `-o wide`; an empty table prints nothing.

use serde_json::Value;

/// How a table is printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// Columns of lower importance too (`-o wide`).
    pub wide: bool,
    /// Without the line of column names.
    pub no_headers: bool,
    /// A first column with each row's namespace (`-A`).
    pub namespaces: bool,
    /// Put before each name, as kubectl does when several kinds are asked for: `pod`, `deployment.apps`.
    pub prefix: Option<String>,
    /// A last column with each row's labels.
    pub labels: bool,
}

/// The table's text, each line with a line end; empty when there is no row.
pub fn table_text(table: &Value, options: &TableOptions) -> String {
    let none = Vec::new();
    let columns = table["columnDefinitions"].as_array().unwrap_or(&none);
    let rows = table["rows"].as_array().unwrap_or(&none);
    if rows.is_empty() {
        return String::new();
    }
    let shown = |column: &Value| options.wide || column["priority"].as_i64().unwrap_or(0) == 0;
    let mut lines = Vec::with_capacity(rows.len() + 1);
    if !options.no_headers {
        let names = columns.iter().filter(|column| shown(column)).map(|column| text_of(&column["name"]).to_uppercase());
        let before = options.namespaces.then(|| "NAMESPACE".to_owned());
        lines.push(before.into_iter().chain(names).chain(options.labels.then(|| "LABELS".to_owned())).collect());
    }
    for row in rows {
        let metadata = &row["object"]["metadata"];
        let cells = row["cells"].as_array().unwrap_or(&none);
        let mut line: Vec<String> = Vec::with_capacity(cells.len() + 2);
        if options.namespaces {
            line.push(cell_text(&metadata["namespace"]));
        }
        let first = line.len();
        line.extend(columns.iter().zip(cells).filter(|(column, _)| shown(column)).map(|(_, cell)| cell_text(cell)));
        if let (Some(prefix), Some(name)) = (&options.prefix, line.get_mut(first)) {
            *name = format!("{prefix}/{name}");
        }
        if options.labels {
            line.push(labels_text(&metadata["labels"]));
        }
        lines.push(line);
    }
    align(&lines)
}

/// Lines of cells in columns of equal width, each line with a line end.
pub fn align(lines: &[Vec<String>]) -> String {
    const PADDING: usize = 3;
    const NARROWEST: usize = 6;
    let mut widths: Vec<usize> = Vec::new();
    for line in lines {
        let padded = line.len().saturating_sub(1);
        if widths.len() < padded {
            widths.resize(padded, NARROWEST);
        }
        for (width, cell) in widths.iter_mut().zip(&line[..padded]) {
            *width = (*width).max(cell.chars().count() + PADDING);
        }
    }
    let mut text = String::new();
    for line in lines {
        let last = line.len().saturating_sub(1);
        for (place, cell) in line.iter().enumerate() {
            text.push_str(cell);
            if place < last {
                text.extend(std::iter::repeat_n(' ', widths[place] - cell.chars().count()));
            }
        }
        text.push('\n');
    }
    text
}

fn cell_text(cell: &Value) -> String {
    let text = text_of(cell);
    // Output stops at the first line break, and terminal control characters lose their power.
    let (head, cut) = match text.find(['\n', '\r', '\u{c}']) {
        Some(end) => (&text[..end], "..."),
        None => (text.as_str(), ""),
    };
    format!("{}{cut}", head.replace('\u{1b}', "^[").replace('\t', " "))
}

/// A JSON value the way Go's `fmt.Sprint` writes it.
fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(text_of).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{key}:{}", text_of(value)));
            format!("map[{}]", fields.collect::<Vec<_>>().join(" "))
        }
        other => other.to_string(),
    }
}

fn labels_text(labels: &Value) -> String {
    match labels.as_object() {
        Some(labels) if !labels.is_empty() => {
            labels.iter().map(|(key, value)| format!("{key}={}", text_of(value))).collect::<Vec<_>>().join(",")
        }
        _ => "<none>".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn nodes() -> Value {
        json!({
            "kind": "Table",
            "columnDefinitions": [
                {"name": "Name", "priority": 0}, {"name": "Status", "priority": 0}, {"name": "Roles", "priority": 0},
                {"name": "Age", "priority": 0}, {"name": "Version", "priority": 0}, {"name": "Internal-IP", "priority": 1},
            ],
            "rows": [
                {"cells": ["a", "Ready,SchedulingDisabled", "<none>", "12s", "kwok-0.7.0", "10.88.0.9"],
                 "object": {"metadata": {"name": "a", "namespace": "lab", "labels": {"x": "1", "y": "2"}}}},
                {"cells": ["b", "Ready", "<none>", "12s", "kwok-0.7.0", "10.88.0.9"], "object": {"metadata": {"name": "b"}}},
            ],
        })
    }

    #[test]
    fn columns_as_kubectl_prints_them() {
        let want = "NAME   STATUS                     ROLES    AGE   VERSION\n\
                    a      Ready,SchedulingDisabled   <none>   12s   kwok-0.7.0\n\
                    b      Ready                      <none>   12s   kwok-0.7.0\n";
        assert_eq!(table_text(&nodes(), &TableOptions::default()), want);
    }

    #[test]
    fn wide_adds_the_less_important_columns() {
        let text = table_text(&nodes(), &TableOptions { wide: true, ..TableOptions::default() });
        assert!(
            text.starts_with("NAME   STATUS                     ROLES    AGE   VERSION      INTERNAL-IP\n"),
            "{text}"
        );
        assert!(text.ends_with("kwok-0.7.0   10.88.0.9\n"), "{text}");
    }

    #[test]
    fn namespaces_labels_and_prefix() {
        let options =
            TableOptions { namespaces: true, labels: true, prefix: Some("node".into()), ..TableOptions::default() };
        let want = "NAMESPACE   NAME     STATUS                     ROLES    AGE   VERSION      LABELS\n\
                    lab         node/a   Ready,SchedulingDisabled   <none>   12s   kwok-0.7.0   x=1,y=2\n\
                    \u{20}           node/b   Ready                      <none>   12s   kwok-0.7.0   <none>\n";
        assert_eq!(table_text(&nodes(), &options), want);
    }

    #[test]
    fn an_empty_table_prints_nothing() {
        let table = json!({"columnDefinitions": [{"name": "Name", "priority": 0}], "rows": []});
        assert_eq!(table_text(&table, &TableOptions::default()), "");
    }

    #[test]
    fn cells_stop_at_a_line_break_and_lose_escapes() {
        let table = json!({
            "columnDefinitions": [{"name": "Name", "priority": 0}, {"name": "Ready", "priority": 0}, {"name": "Message", "priority": 0}],
            "rows": [{"cells": ["a", 3, "one\u{1b}[31m\ntwo"]}, {"cells": ["b", null, true]}],
        });
        let options = TableOptions { no_headers: true, ..TableOptions::default() };
        assert_eq!(table_text(&table, &options), "a     3     one^[[31m...\nb           true\n");
    }
}

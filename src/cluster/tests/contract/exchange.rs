//! Recorded exchanges: one request, one answer.

/// One exchange.
#[derive(Debug)]
pub struct Exchange {
    /// `02-create-read 5`, the place in its file.
    pub id: String,
    /// What the recording says about it.
    pub title: String,
    pub method: String,
    pub path: String,
    pub accept: String,
    pub content_type: String,
    pub body: String,
    pub status: u16,
    pub answer_type: String,
    pub warning: String,
    pub answer: String,
    /// Whether the recording holds only the start of the answer.
    pub cut: bool,
}

/// Reads a file of exchanges.
pub fn read(file: &str, text: &str) -> Vec<Exchange> {
    let blocks = text.split("\n### ").skip(1);
    blocks.enumerate().map(|(at, block)| exchange(format!("{file} {}", at + 1), block)).collect()
}

fn exchange(id: String, block: &str) -> Exchange {
    let (title, rest) = block.split_once('\n').expect("a title");
    let (request, answer) = rest.split_once("\n\nHTTP ").expect("an answer");
    let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
    let (line, headers) = head.split_once('\n').unwrap_or((head, ""));
    let (method, path) = line.split_once(' ').expect("a request line");
    let (answer_head, answer) = answer.split_once("\n\n").unwrap_or((answer, ""));
    let (status, answer_headers) = answer_head.split_once('\n').unwrap_or((answer_head, ""));
    let answer = answer.trim_end();
    Exchange {
        id,
        title: title.to_owned(),
        method: method.to_owned(),
        path: path.to_owned(),
        accept: header(headers, "Accept"),
        content_type: header(headers, "Content-Type"),
        body: body.to_owned(),
        status: status.trim().parse().expect("a status"),
        answer_type: header(answer_headers, "Content-Type"),
        warning: header(answer_headers, "Warning"),
        answer: answer.trim_end_matches("… cut").trim_end().to_owned(),
        cut: answer.ends_with("… cut"),
    }
}

fn header(headers: &str, name: &str) -> String {
    let found = headers.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    found.unwrap_or("").to_owned()
}

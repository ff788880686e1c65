//! Makes answers of HTTP, each with the headers that keep a page to this server.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONNECTION, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use crate::api::Answer;
use crate::page::ServedFile;

/// What the server answers with.
pub type Reply = Response<Full<Bytes>>;

/// Scripts, styles and questions from here alone; pictures also from the page's own data.
const POLICY: &str = "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS: [(&str, &str); 7] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

fn reply(status: u16, kind: Option<&'static str>, content: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(content.into()));
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    let kind = kind.map(|kind| ("content-type", kind));
    for (name, value) in HEADERS.into_iter().chain(kind) {
        let name = HeaderName::from_static(name);
        reply
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    reply
}

/// Nothing but a status, after which the connection is closed.
pub fn parting(status: u16) -> Reply {
    let mut reply = reply(status, None, Bytes::new());
    let close = HeaderValue::from_static("close");
    reply.headers_mut().insert(CONNECTION, close);
    reply
}

/// A file of the page.
pub fn file(file: ServedFile) -> Reply {
    let content = match file.content {
        std::borrow::Cow::Borrowed(text) => Bytes::from_static(text.as_bytes()),
        std::borrow::Cow::Owned(text) => Bytes::from(text),
    };
    reply(200, Some(file.kind), content)
}

const JSON: &str = "application/json; charset=utf-8";

/// The answer to a question.
pub fn answer(answer: Answer) -> Reply {
    reply(answer.status, Some(JSON), answer.json)
}

//! Admits requests of this machine's own page and no others.
//!
//! A page of another site may make a browser send requests here, and a name of another site may be made
//! to mean 127.0.0.1: so Host, Origin and Sec-Fetch-Site must be those of this server, and the path must
//! begin with the token. Paths are compared as they were sent, so that no spelling of `..` means anything.

use hyper::header::{HOST, HeaderMap, ORIGIN};
use hyper::{Method, Uri};

use super::token::Token;
use crate::page::{self, ServedFile};

/// What a request is for.
#[derive(Debug)]
pub enum RequestTarget {
    /// A file of the page.
    File(ServedFile),
    /// A question of the page, by its name.
    Api(String),
}

/// Where the server is, and the secret in its address.
pub struct Guard {
    pub port: u16,
    pub token: Token,
}

impl Guard {
    /// What a request is for, or the status with which it is refused.
    pub fn admit(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<RequestTarget, u16> {
        if !self.is_own_host(uri, headers) || !self.is_own_origin(headers) {
            return Err(403);
        }
        let place = self.place(uri.path()).ok_or(404u16)?;
        let fits = match &place {
            RequestTarget::File(_) => method == Method::GET || method == Method::HEAD,
            RequestTarget::Api(_) => method == Method::POST,
        };
        if fits { Ok(place) } else { Err(405) }
    }

    fn is_own_host(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let own = |text: &str| {
            let (name, port) = text.rsplit_once(':').unwrap_or((text, "80"));
            (name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost"))
                && port == self.port.to_string()
        };
        let hosts: Vec<_> = headers.get_all(HOST).iter().collect();
        let [host] = hosts[..] else {
            return false;
        };
        host.to_str().is_ok_and(own) && uri.authority().is_none_or(|a| own(a.as_str()))
    }

    fn is_own_origin(&self, headers: &HeaderMap) -> bool {
        let own = ["127.0.0.1", "localhost"].map(|name| format!("http://{name}:{}", self.port));
        let origins = headers.get_all(ORIGIN).iter();
        let mut sites = headers.get_all("sec-fetch-site").iter();
        let is_own = |text: &str| own.iter().any(|own| own == text);
        origins
            .map(|origin| origin.to_str())
            .all(|origin| origin.is_ok_and(is_own))
            // `none` is an address that was typed or opened; a page on another port is `same-site`.
            && sites.all(|site| site == "same-origin" || site == "none")
    }

    fn place(&self, path: &str) -> Option<RequestTarget> {
        let (token, rest) = path.strip_prefix('/')?.split_once('/')?;
        if !self.token.is(token) {
            return None;
        }
        if let Some(name) = rest.strip_prefix("api/") {
            return Some(RequestTarget::Api(name.to_owned()));
        }
        page::find(rest).map(RequestTarget::File)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn guard() -> Guard {
        Guard {
            port: 8080,
            token: Token::random().unwrap(),
        }
    }

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    fn status(guard: &Guard, path: &str, list: &[(&'static str, &'static str)]) -> u16 {
        let uri: Uri = path.parse().unwrap();
        match guard.admit(&Method::POST, &uri, &headers(list)) {
            Ok(_) => 200,
            Err(status) => status,
        }
    }

    #[test]
    fn only_this_host_and_origin_are_admitted() {
        let guard = guard();
        let path = format!("/{}/api/look", guard.token);
        let host = ("host", "127.0.0.1:8080");
        for good in [
            &[host][..],
            &[
                ("host", "localhost:8080"),
                ("origin", "http://localhost:8080"),
            ],
            &[
                host,
                ("origin", "http://127.0.0.1:8080"),
                ("sec-fetch-site", "same-origin"),
            ],
            &[host, ("sec-fetch-site", "none")],
        ] {
            assert_eq!(status(&guard, &path, good), 200, "{good:?}");
        }
        for bad in [
            &[][..],
            &[host, host],
            &[("host", "127.0.0.1")],
            &[("host", "127.0.0.1:8081")],
            &[("host", "example.org:8080")],
            &[("host", "127.0.0.1.example.org:8080")],
            &[host, ("origin", "null")],
            &[host, ("origin", "http://example.org")],
            &[host, ("origin", "https://127.0.0.1:8080")],
            &[host, ("origin", "http://127.0.0.1:8081")],
            &[
                host,
                ("origin", "http://127.0.0.1:8080"),
                ("origin", "null"),
            ],
            &[host, ("sec-fetch-site", "cross-site")],
            &[host, ("sec-fetch-site", "same-site")],
        ] {
            assert_eq!(status(&guard, &path, bad), 403, "{bad:?}");
        }
        let elsewhere = format!("http://example.org{path}");
        assert_eq!(status(&guard, &elsewhere, &[host]), 403);
    }

    #[test]
    fn only_known_paths_behind_the_token_are_found() {
        let guard = guard();
        let host = &[("host", "127.0.0.1:8080")][..];
        let token = guard.token.to_string();
        for path in [
            "/".to_owned(),
            "/api/look".to_owned(),
            format!("/{token}"),
            format!("/{token}x/api/look"),
            format!("/{}/api/look", &token[..31]),
            format!("/{token}/../etc/passwd"),
            format!("/{token}/%2e%2e/etc/passwd"),
            format!("/{token}/app/../../etc/passwd"),
            format!("/{token}/app/..%2f..%2fetc%2fpasswd"),
            format!("//{token}/api/look"),
        ] {
            assert_eq!(status(&guard, &path, host), 404, "{path}");
        }
        assert_eq!(status(&guard, &format!("/{token}/"), host), 405);
    }
}

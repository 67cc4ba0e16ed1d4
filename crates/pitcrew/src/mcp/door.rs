//! Who may come in over HTTP: whoever knows a member's token, from this machine, and no page in a browser.
//!
//! | looked at | refused with |
//! |---|---|
//! | the path, which is `/mcp` | 404 |
//! | `Host`: this machine's own name for itself | 403 |
//! | `Origin`: a browser sends it, and no browser belongs here | 403 |
//! | `Authorization: Bearer` with the token of a present member | 401 |
//!
//! The token is looked up for each request, so the one of an earlier incarnation opens nothing.

use hyper::header::{AUTHORIZATION, HOST, ORIGIN};
use hyper::{HeaderMap, StatusCode, Uri};

/// The one path.
pub(super) const PATH: &str = "/mcp";

/// Why somebody stays outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shut {
    pub(super) status: StatusCode,
    pub(super) why: &'static str,
}

const fn shut(status: StatusCode, why: &'static str) -> Shut {
    Shut { status, why }
}

/// Nobody of that token is a member.
pub(super) const UNKNOWN: Shut = shut(
    StatusCode::UNAUTHORIZED,
    "the token belongs to no present member of this team",
);

/// The token of a request that may come in, if it is a member's.
///
/// # Errors
/// Why it may not, as the table above says.
pub(super) fn token<'h>(uri: &Uri, headers: &'h HeaderMap, port: u16) -> Result<&'h str, Shut> {
    if uri.path() != PATH {
        return Err(shut(StatusCode::NOT_FOUND, "the path is /mcp"));
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| is_here(host, port)) {
        return Err(shut(
            StatusCode::FORBIDDEN,
            "the Host header names another machine or port",
        ));
    }
    if headers.contains_key(ORIGIN) {
        return Err(shut(
            StatusCode::FORBIDDEN,
            "requests of web pages are not taken",
        ));
    }
    let given = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let bearer = given.and_then(|given| {
        let (scheme, token) = given.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    bearer.filter(|token| !token.is_empty()).ok_or(shut(
        StatusCode::UNAUTHORIZED,
        "give the member's token as Authorization: Bearer",
    ))
}

/// Whether `host` is a name of loopback with our port.
fn is_here(host: &str, port: u16) -> bool {
    let Some((name, given)) = host.rsplit_once(':') else {
        return false;
    };
    given.parse() == Ok(port)
        && (name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(path: &str, headers: &[(&str, &str)]) -> Result<String, u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(
                hyper::header::HeaderName::from_bytes(name.as_bytes()).unwrap(),
                value.parse().unwrap(),
            );
        }
        token(&path.parse().unwrap(), &map, 7000)
            .map(str::to_string)
            .map_err(|shut| shut.status.as_u16())
    }

    #[test]
    fn only_a_bearer_token_from_this_machine_comes_in() {
        let bearer = ("authorization", "Bearer abc");
        let here = ("host", "127.0.0.1:7000");
        assert_eq!(asked("/mcp", &[here, bearer]), Ok("abc".into()));
        assert_eq!(
            asked(
                "/mcp",
                &[("host", "localhost:7000"), ("authorization", "bearer abc")]
            ),
            Ok("abc".into())
        );
        for (path, headers, status) in [
            ("/", &[here, bearer][..], 404),
            ("/mcp", &[bearer], 403),
            ("/mcp", &[("host", "evil.example:7000"), bearer], 403),
            ("/mcp", &[("host", "127.0.0.1:7001"), bearer], 403),
            ("/mcp", &[("host", "127.0.0.1"), bearer], 403),
            (
                "/mcp",
                &[("host", "127.0.0.1.evil.example:7000"), bearer],
                403,
            ),
            (
                "/mcp",
                &[here, bearer, ("origin", "http://localhost:3000")],
                403,
            ),
            ("/mcp", &[here, bearer, ("origin", "null")], 403),
            ("/mcp", &[here], 401),
            ("/mcp", &[here, ("authorization", "Basic abc")], 401),
            ("/mcp", &[here, ("authorization", "Bearer ")], 401),
        ] {
            assert_eq!(asked(path, headers), Err(status), "{path} {headers:?}");
        }
    }
}

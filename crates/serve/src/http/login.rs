//! The token is shown once, and a cookie stands for it after that.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::State as Shared,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};

use super::{
    guard::{COOKIE, field, is_same, read_body},
    reply::{Problem, Reply, see_other},
    state::State,
};
use crate::pages::login;

pub(super) async fn show() -> Reply {
    Reply::page(login::login(false, "/"))
}

/// The page that was asked for, if it is one of this server: `//host` and `/\\host` are others to a browser.
fn page_of_this_server(next: Option<String>) -> String {
    let is_own = |path: &String| {
        path.starts_with('/')
            && !path.starts_with("//")
            && !path.starts_with("/login")
            && path
                .chars()
                .all(|letter| letter.is_ascii_graphic() && letter != '\\')
    };
    next.filter(is_own).unwrap_or_else(|| "/".to_owned())
}

pub(super) async fn check(
    Shared(state): Shared<Arc<State>>,
    body: Body,
) -> Result<Response, Problem> {
    let body = read_body(body).await?;
    let next = page_of_this_server(field(&body, "next"));
    let given = field(&body, "token").map(|token| token.trim().to_owned());
    let expected = state.access_token.as_ref();
    let is_right = expected
        .zip(given)
        .is_some_and(|(token, given)| is_same(&given, token));
    if !is_right {
        let page = Reply::page(login::login(true, &next));
        return Ok(page.with_status(StatusCode::UNAUTHORIZED).into_response());
    }
    let cookie = format!(
        "{COOKIE}={}; HttpOnly; SameSite=Strict; Path=/",
        state.session
    );
    let mut answer = see_other(&next);
    let cookie = HeaderValue::from_str(&cookie).map_err(|why| Problem::broken(why.to_string()))?;
    answer.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::page_of_this_server;

    #[test]
    fn the_page_after_the_token_is_one_of_this_server() {
        let next = |path: &str| page_of_this_server(Some(path.to_owned()));
        assert_eq!(next("/?q=a&state=b"), "/?q=a&state=b");
        for other in [
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a b",
            "/a\r\nX: y",
            "/login",
            "",
        ] {
            assert_eq!(next(other), "/", "{other:?}");
        }
        assert_eq!(page_of_this_server(None), "/");
    }
}

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
    Reply::page(login::login(false))
}

pub(super) async fn check(
    Shared(state): Shared<Arc<State>>,
    body: Body,
) -> Result<Response, Problem> {
    let body = read_body(body).await?;
    let given = field(&body, "token").map(|token| token.trim().to_owned());
    let expected = state.access_token.as_ref();
    let is_right = expected
        .zip(given)
        .is_some_and(|(token, given)| is_same(&given, token));
    if !is_right {
        let page = Reply::page(login::login(true));
        return Ok(page.with_status(StatusCode::UNAUTHORIZED).into_response());
    }
    let cookie = format!(
        "{COOKIE}={}; HttpOnly; SameSite=Strict; Path=/",
        state.session
    );
    let mut answer = see_other("/");
    let cookie = HeaderValue::from_str(&cookie).map_err(|why| Problem::broken(why.to_string()))?;
    answer.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(answer)
}

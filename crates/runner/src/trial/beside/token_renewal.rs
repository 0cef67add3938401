//! The token of a trial: it is there before something is sent with it, and renewed while loads run.

use std::{
    future::{Future, pending},
    pin::Pin,
    time::Duration,
};

use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use waggle_load::Interval;
use waggle_study::TokenEndpoint;
use waggle_system::{
    components::{
        driver::{Driver, Failure},
        endpoints::endpoint,
    },
    http::client::HttpConnector,
    secrets::{
        oauth2::{TokenError, TokenSource},
        tokens::Token,
    },
};

use crate::{
    load::load_run::{LoadError, LoadRun},
    trial::{
        Trial,
        beside::{
            companion::{Companion, Follow, Part, View},
            resend::Resends,
        },
    },
};

/// Timeout of the first token, and of a single request for any.
const FETCH_AT_MOST: Duration = Duration::from_secs(10);
/// Pauses between two requests, first and longest.
const RETRY_PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

const NO_ANSWER: &str = "there was no answer in time";

/// Renews the token of a trial, with which these loads are sent.
pub(in crate::trial) struct TokenRenewal<'a>(pub(in crate::trial) Resends<'a>);

impl<D: Driver, L, W: HttpConnector> Companion<D, L, W> for TokenRenewal<'_> {
    fn follow<'t>(&'t mut self, view: &'t View<'t, D, W>, part: Part<'t>) -> Follow<'t> {
        match part {
            Part::Load(_) => {}
            // Only probes are still sent with it.
            Part::Drain(_) if view.trial.context.system.asks_with_token() => {
                self.0 = Resends::default();
            }
            Part::Drain(_) => return Follow::Nothing,
        }
        let renewal = view.trial.renew_token(view, &self.0);
        Follow::Throughout(Box::pin(async { renewal.await.into() }))
    }
}

impl Trial<'_> {
    /// Fetches the token of a server that runs already, for the setup of components.
    pub(in crate::trial) async fn fetch_token_before_start<D: Driver, W: HttpConnector>(
        &self,
        driver: &D,
        http: &W,
    ) -> Result<(), Failure> {
        let is_there = |source: &TokenSource| {
            matches!(source.asked.endpoint, TokenEndpoint::Url { .. })
                && self.context.system.is_set_up_with_token()
        };
        match self.context.tokens.is_some_and(is_there) {
            true => self.ensure_token(driver, http).await,
            false => Ok(()),
        }
    }

    /// Fetches a token, unless the last one lasts for a while.
    pub(in crate::trial) async fn ensure_token<D: Driver, W: HttpConnector>(
        &self,
        driver: &D,
        http: &W,
    ) -> Result<(), Failure> {
        let Some(source) = self.context.tokens else {
            return Ok(());
        };
        let tokens = &self.context.secrets.tokens;
        let is_fresh = |token: Token| {
            token
                .renew_at()
                .is_none_or(|instant| Instant::now() < instant)
        };
        if tokens.newest().is_some_and(is_fresh) {
            return Ok(());
        }
        let mut pause = RETRY_PAUSE.0;
        let deadline = Instant::now() + FETCH_AT_MOST;
        loop {
            match self.ask(source, driver, http, deadline).await {
                Ok(token) => {
                    tokens.add(token);
                    driver.hide(self.context.secrets);
                    return Ok(());
                }
                Err(TokenError::Failed(_)) if Instant::now() + pause < deadline => {
                    sleep(pause).await;
                    pause = (pause * 2).min(RETRY_PAUSE.1);
                }
                Err(error) => {
                    let lasts = |token: Token| {
                        token
                            .ends_at()
                            .is_none_or(|instant| Instant::now() < instant)
                    };
                    return match tokens.newest().is_some_and(lasts) {
                        true => Ok(()),
                        false => Err(self.no_token(source, "gave no token", &error)),
                    };
                }
            }
        }
    }

    /// Renews the token again and again before it ends, and sends the loads with the new one. Returns only if that fails until the
    /// token has ended.
    pub(in crate::trial) async fn renew_token<D: Driver, W: HttpConnector>(
        &self,
        view: &View<'_, D, W>,
        loads: &Resends<'_>,
    ) -> Failure {
        let tokens = &self.context.secrets.tokens;
        loop {
            let newest = tokens.newest();
            let times = newest.and_then(|token| Some((token.renew_at()?, token.ends_at()?)));
            let (Some((renewal, end)), Some(source)) = (times, self.context.tokens) else {
                return pending().await;
            };
            sleep_until(renewal).await;
            // It may have expired while nothing was sent with it.
            let now = Instant::now();
            let end = if end <= now { now + FETCH_AT_MOST } else { end };
            match self.ask_until(source, view, end).await {
                Ok(token) => {
                    tokens.add(token);
                    view.driver.hide(self.context.secrets);
                }
                Err(error) => {
                    let what = "gave no token before the last one expired";
                    return self.no_token(source, what, &error);
                }
            }
            if let Err(failure) = loads.send_new_token() {
                return failure;
            }
        }
    }

    /// A server of the system that is started anew may not know its tokens any more.
    pub(in crate::trial) fn forget_token_of_system(&self) {
        let endpoint = self.context.tokens.map(|source| &source.asked.endpoint);
        if matches!(endpoint, Some(TokenEndpoint::OfSystem { .. })) {
            self.context.secrets.tokens.forget_newest();
        }
    }

    /// Asks until there is a token, however it was refused. The error is the last one that the server has told.
    async fn ask_until<D: Driver, W: HttpConnector>(
        &self,
        source: &TokenSource,
        view: &View<'_, D, W>,
        end: Instant,
    ) -> Result<Token, TokenError> {
        let mut pause = RETRY_PAUSE.0;
        let mut last: Option<TokenError> = None;
        loop {
            let until = end.min(Instant::now() + FETCH_AT_MOST);
            let error = match self.ask(source, view.driver, view.http, until).await {
                Ok(token) => return Ok(token),
                Err(error) if error.reason() == NO_ANSWER => last.take().unwrap_or(error),
                Err(error) => error,
            };
            if Instant::now() >= end {
                return Err(error);
            }
            last = Some(error);
            sleep_until(end.min(Instant::now() + pause)).await;
            pause = (pause * 2).min(RETRY_PAUSE.1);
        }
    }

    async fn ask<D: Driver, W: HttpConnector>(
        &self,
        source: &TokenSource,
        driver: &D,
        http: &W,
        until: Instant,
    ) -> Result<Token, TokenError> {
        let secrets = self.context.secrets;
        let peer = match &source.asked.endpoint {
            TokenEndpoint::Url { .. } => None,
            TokenEndpoint::OfSystem { endpoint: name, .. } => {
                let lookup = endpoint(self.context.system, driver, name);
                Some(lookup.map_err(|failure| TokenError::Failed(failure.reason))?)
            }
        };
        let asked = timeout_at(until, source.ask(peer, http, secrets)).await;
        asked.unwrap_or_else(|_| Err(TokenError::Failed(NO_ANSWER.to_owned())))
    }

    fn no_token(&self, source: &TokenSource, what: &str, error: &TokenError) -> Failure {
        let endpoint = &source.asked.endpoint;
        let why = format!("{endpoint} {what}: {}", error.reason());
        Failure::new(self.context.secrets.redact(&why))
    }
}

/// The next interval of a load, while its token is renewed.
pub(in crate::trial) async fn next_interval<R: LoadRun>(
    run: &mut R,
    renewal: Pin<&mut impl Future<Output = Failure>>,
    failed: impl FnOnce(LoadError) -> Failure,
) -> Result<Option<Interval>, Failure> {
    tokio::select! {
        biased;
        next = run.next_interval() => next.map_err(failed),
        failure = renewal => Err(failure),
    }
}

//! A server that is given by its URL: it is waited for before anything is written, because no trial of the run can do without it.

use std::time::Duration;

use waggle_study::External;
use waggle_system::{components::driver::external, shutdown::Shutdown};

use crate::{event::Event, event_sender::Events, run::request::RunRequest, trial::error::RunError};

/// Waits until the server can be reached, if the system has one.
pub(crate) async fn find(
    request: &RunRequest,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<(), RunError> {
    let cells = request.study.cells.iter();
    let timeouts = cells.map(|cell| cell.schedule.ready_timeout);
    let Some((server, timeout)) = request.system.external.as_ref().zip(timeouts.max()) else {
        return Ok(());
    };
    if request.server_at.is_some() {
        return Ok(());
    }
    let mut shutdown = shutdown.clone();
    let report = async |why| events.report(event(server, timeout, why)).await;
    tokio::select! {
        biased;
        // The trials are not begun then.
        () = shutdown.wait_for_stop() => Ok(()),
        outcome = external::wait_for(server, timeout, report) => {
            outcome.map_err(|why| RunError::Unreachable {
                url: server.url.clone(),
                why,
                waited: timeout,
            })
        }
    }
}

fn event(server: &External, timeout: Duration, why: String) -> Event {
    Event::WaitingForServer {
        url: server.url.clone(),
        why,
        at_most: timeout,
    }
}

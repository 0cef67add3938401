//! The list, the page of a run, its report and its notes.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, RawQuery, State as Shared},
    response::Response,
};
use url::form_urlencoded;
use waggle_results::{NOTE_MAX_LETTERS, Note, read_notes, write_note};

use super::{
    guard::{field, read_form},
    reply::{Problem, Reply, see_other},
    state::{State, on_thread, reading},
};
use crate::{
    launch::order::StudyEntry,
    pages::{
        layout::run_address,
        list::{self, List},
        run::{self, RunPage},
    },
    runs::{
        query::{Query, run_before},
        read::{Columns, columns},
        row::{Content, RunFacts},
        running::RunningRun,
    },
};

pub(super) async fn list(
    Shared(state): Shared<Arc<State>>,
    RawQuery(query): RawQuery,
) -> Result<Reply, Problem> {
    let query = Query::parse(&query.unwrap_or_default());
    on_thread(&state, move |state| list_page(state, &query)).await
}

fn list_page(state: &State, query: &Query) -> Result<Reply, Problem> {
    let (rows, running) = state.rows()?;
    let is_elsewhere = |run: &RunningRun| {
        let folder = run.run.as_deref().and_then(std::path::Path::parent);
        folder != Some(state.folder.as_path())
    };
    let elsewhere: Vec<RunningRun> = running.into_iter().filter(is_elsewhere).collect();
    Ok(Reply::page(list::list(&List {
        folder: &state.folder.display().to_string(),
        rows: &rows,
        query,
        elsewhere: &elsewhere,
        may_run: state.may_run(),
    })))
}

pub(super) async fn run(
    Shared(state): Shared<Arc<State>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Reply, Problem> {
    let metric = field(query.unwrap_or_default().as_bytes(), "metric");
    on_thread(&state, move |state| {
        run_page(state, &name, metric.as_deref())
    })
    .await
}

fn run_page(state: &State, name: &str, metric: Option<&str>) -> Result<Reply, Problem> {
    let (rows, _) = state.rows()?;
    let row = state.row(name)?;
    let facts = match &row.content {
        Content::Run(facts) => facts,
        Content::Refused(why) => return Err(Problem::unreadable(format!("{name}: {why}"))),
    };
    let notes = read_notes(&state.folder.join(name));
    let before = run_before(&rows, &row);
    let study = study_of(state, facts);
    let metrics = match state.may_note {
        true => note_metrics(state, name, metric),
        false => Vec::new(),
    };
    Ok(Reply::page(run::run(&RunPage {
        name,
        run: facts,
        notes: &notes,
        before: before.map(|row| row.name.as_str()),
        study: study.as_deref(),
        may_run: state.may_run(),
        note_token: state.may_note.then_some(state.form_token.as_str()),
        metrics: &metrics,
        metric,
    })))
}

/// The metrics that a note is offered for: those that the study asks about, and the one that the page was opened for.
fn note_metrics(state: &State, name: &str, metric: Option<&str>) -> Vec<String> {
    let Columns { mut asked, all } = columns(&state.folder.join(name));
    let opened = metric.filter(|column| all.contains(*column));
    asked.extend(opened.map(str::to_owned));
    asked.into_iter().collect()
}

/// The study of the folder of studies that the run is of: that of the same name, in a file of the same name if there are several.
fn study_of(state: &State, run: &RunFacts) -> Option<String> {
    let launching = state.launching.as_ref()?;
    let entries = (state.backend.studies)(&launching.studies).ok()?;
    let is_of_run = |entry: &StudyEntry| {
        let name = entry.content.as_ref().map(|(name, _)| name);
        name == Ok(&run.study)
    };
    let entries = entries.into_iter().filter(is_of_run);
    let mut files: Vec<String> = entries.map(|entry| entry.file).collect();
    let file_name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let is_same_file = |file: &String| file_name(file) == file_name(&run.study_file);
    let same = files.iter().position(is_same_file).unwrap_or(0);
    (!files.is_empty()).then(|| files.swap_remove(same))
}

pub(super) async fn report(
    Shared(state): Shared<Arc<State>>,
    Path(name): Path<String>,
) -> Result<Reply, Problem> {
    reading(&state, move |state| report_page(state, &name)).await
}

fn report_page(state: &State, name: &str) -> Result<Reply, Problem> {
    let folder = state.run_folder(name)?;
    let home = run_address(name, "");
    let page = (state.backend.report)(&folder, state.site(&home));
    page.map(Reply::document).map_err(Problem::unreadable)
}

pub(super) async fn note(
    Shared(state): Shared<Arc<State>>,
    Path(name): Path<String>,
    body: Body,
) -> Result<Response, Problem> {
    if !state.may_note {
        return Err(Problem::refusal(
            "this server only reads: notes need --allow-notes or --allow-run",
        ));
    }
    let body = read_form(&state, body).await?;
    let note = read_note(&body)?;
    on_thread(&state, move |state| add_note(state, &name, &note)).await
}

fn add_note(state: &State, name: &str, note: &Note) -> Result<Response, Problem> {
    let folder = state.run_folder(name)?;
    if let Some(metric) = &note.metric
        && !columns(&folder).all.contains(metric)
    {
        return Err(Problem::mistake(format!(
            "metric: {name} has no metric {metric:?}; expected a column of its tables.csv"
        )));
    }
    let written = write_note(&folder, note);
    written.map_err(|why| Problem::broken(format!("cannot write the note: {why}")))?;
    state.index.look_again();
    Ok(see_other(&run_address(name, "#notes")))
}

fn read_note(body: &[u8]) -> Result<Note, Problem> {
    let (mut text, mut accepts, mut metric) = (String::new(), false, None);
    for (name, value) in form_urlencoded::parse(body) {
        match &*name {
            // Tabs come from tables and terminals.
            "text" => {
                text = value
                    .replace("\r\n", "\n")
                    .replace('\t', " ")
                    .trim()
                    .to_owned()
            }
            "accept" if value == "yes" => accepts = true,
            "accept" => {
                return Err(Problem::mistake(format!(
                    "accept: expected yes, and not {value:?}"
                )));
            }
            "metric" if value.is_empty() => {}
            "metric" => metric = Some(value.into_owned()),
            "token" => {}
            other => return Err(Problem::mistake(format!("there is no field {other:?}"))),
        }
    }
    let letters = text.chars().count();
    if text.is_empty() || letters > NOTE_MAX_LETTERS {
        return Err(Problem::mistake(format!(
            "text: expected a note of 1 to {NOTE_MAX_LETTERS} letters, and not {letters}"
        )));
    }
    if let Some(strange) = text.chars().find(is_strange) {
        return Err(Problem::mistake(format!(
            "text: expected letters that can be seen, and not {strange:?}"
        )));
    }
    let now = jiff::Timestamp::now();
    Ok(Note {
        written_utc: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        text,
        accepts,
        metric,
    })
}

/// What is not seen, or shows other letters in another order than they have.
fn is_strange(letter: &char) -> bool {
    let turns = matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (letter.is_control() && *letter != '\n')
}

#[cfg(test)]
mod tests {
    use super::read_note;

    #[test]
    fn a_note_may_have_lines_and_tabs_and_no_other_control_letters() {
        let text = |body: &str| read_note(body.as_bytes()).map(|note| note.text);
        assert_eq!(
            text("text=new%09disk%0D%0Asecond+line%09").as_deref(),
            Ok("new disk\nsecond line")
        );
        assert!(text("text=bell%07").is_err());
        assert!(text("text=%E2%80%AEdrawkcab").is_err());
        assert!(text("text=+%0A").is_err());
        assert!(text(&format!("text={}", "x".repeat(2001))).is_err());
    }

    #[test]
    fn a_note_has_no_other_fields_than_those_of_its_form() {
        let note = read_note(b"token=x&text=a&accept=yes&metric=p99").unwrap();
        assert!(note.accepts && note.metric.as_deref() == Some("p99"));
        assert!(!read_note(b"text=a&metric=").unwrap().accepts);
        for body in ["text=a&accepts=yes", "text=a&accept=no", "text=a&run=b"] {
            assert!(read_note(body.as_bytes()).is_err(), "{body}");
        }
    }
}

//! The scenario of the benches: a login whose token is captured by JSONPath, and a GET that carries it.

use std::error::Error;

use waggle_load::{
    Action, Capture, Expect, Extractor, Flow, Query, Scenario, StepRequest, Template,
};
use waggle_spec::OnFailure;

/// Every answer must be JSON with a member `token`.
pub(crate) fn scenario() -> Result<Scenario, Box<dyn Error>> {
    let step = |number, method: &str, path| -> Result<StepRequest, Box<dyn Error>> {
        Ok(StepRequest {
            step: number,
            method: method.to_owned(),
            path: Template::parse(path)?,
            headers: Vec::new(),
            body: Template::default(),
            expect: Expect::default(),
            checks: Vec::new(),
            captures: Vec::new(),
            on_failure: OnFailure::EndSession,
            timeout: None,
        })
    };
    let login = StepRequest {
        body: Template::parse(r#"{"name": "user {{user}}"}"#)?,
        captures: vec![Capture {
            variable: "token".to_owned(),
            from: Extractor::Json(Query::parse("$.token")?),
            is_optional: false,
        }],
        ..step(0, "POST", "/login")?
    };
    let get = StepRequest {
        headers: vec![(
            "Authorization".to_owned(),
            Template::parse("Bearer {{token}}")?,
        )],
        ..step(1, "GET", "/items")?
    };
    Ok(Scenario {
        host: "localhost".to_owned(),
        steps: vec!["login".to_owned(), "items".to_owned()],
        flows: vec![Flow {
            name: "one".to_owned(),
            weight: 1,
            actions: [login, get]
                .map(|step| Action::Request(Box::new(step)))
                .into(),
        }],
        feeds: Vec::new(),
        run: String::new(),
        preparation: None,
    })
}

//! `/experiments/ID`, its cells, and the raw outputs of its trials.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use blklab_model::id::{ExperimentId, TrialId};
use blklab_model::report::Report;

use super::page::{Page, PageError};
use super::twin::{Form, base_url, csv, no_such_form, parse, plain, split};
use crate::http::error::AppError;
use crate::lab::Lab;
use crate::render;
use crate::render::html::cell::CellPage;
use crate::render::html::experiment::ExperimentPage;

/// Raw outputs come from the machines under test: nothing in them may run.
const RAW_POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; sandbox");

pub(super) async fn page(State(lab): State<Lab>, Path(name): Path<String>, headers: HeaderMap) -> Result<Response, PageError> {
    let (id, form) = split::<ExperimentId>(&name)?;
    if form == Form::Toml {
        let file = lab.experiment_file(id).await?.ok_or_else(|| no_experiment(id))?;
        return Ok(plain(file.text));
    }
    let report = report(&lab, id).await?;
    Ok(match form {
        Form::Html => {
            let live = if report.state.is_over() { None } else { lab.progress(id).await? };
            Page(ExperimentPage::new(&report, live.as_ref(), lab.now())).into_response()
        }
        Form::Json => Json(report).into_response(),
        Form::Csv => csv(render::csv::experiment(&report)),
        Form::Text | Form::Toml => plain(render::text::render(&report, &base_url(&headers))),
    })
}

pub(super) async fn cell(State(lab): State<Lab>, Path((id, name)): Path<(String, String)>) -> Result<Response, PageError> {
    let (id, (number, form)) = (parse::<ExperimentId>(&id)?, split::<u32>(&name)?);
    let report = report(&lab, id).await?;
    let missing = || AppError::not_found(format!("experiment {id} has no cell {number}"));
    let cell = report.cells.iter().find(|cell| cell.id.cell == number).ok_or_else(missing)?;
    Ok(match form {
        Form::Html => Page(CellPage::new(&report, number, lab.now()).ok_or_else(missing)?).into_response(),
        Form::Json => Json(cell).into_response(),
        Form::Csv => csv(render::csv::cell(cell)),
        Form::Text | Form::Toml => return Err(no_such_form(&name).into()),
    })
}

pub(super) async fn raw(State(lab): State<Lab>, Path((id, trial, output)): Path<(String, String, String)>) -> Result<Response, PageError> {
    let (id, trial) = (parse::<ExperimentId>(&id)?, parse::<TrialId>(&trial)?);
    let found = if trial.cell.experiment == id { lab.output(trial, &output).await? } else { None };
    let bytes = found.ok_or_else(|| AppError::not_found(format!("trial {trial} of {id} has no output `{output}`")))?;
    let mut response = plain(bytes);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, RAW_POLICY);
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}

async fn report(lab: &Lab, id: ExperimentId) -> Result<Report, AppError> {
    lab.report(id).await?.ok_or_else(|| no_experiment(id))
}

fn no_experiment(id: ExperimentId) -> AppError {
    AppError::not_found(format!("there is no experiment {id}"))
}

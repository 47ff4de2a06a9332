//! The files of the page, which are part of the program.

use std::path::Path as FilePath;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use osier_viewer::assets::{LIVE_PAGE, WEB_FILES};

use crate::error::ApiError;
use crate::gateway::Gateway;

pub(crate) async fn start_page(State(gateway): State<Arc<Gateway>>) -> Response {
    response(gateway.web_files(), "live.html", LIVE_PAGE)
}

pub(crate) async fn asset(
    State(gateway): State<Arc<Gateway>>,
    Path(name): Path<String>,
) -> Result<Response, ApiError> {
    let file = WEB_FILES.iter().find(|file| file.name == name);
    let file = file.ok_or_else(|| ApiError::with_status(StatusCode::NOT_FOUND, "no such file"))?;
    Ok(response(gateway.web_files(), file.name, file.content))
}

/// The file, as it is in `folder` or, if it is not there, as it is in the program.
fn response(folder: Option<&FilePath>, name: &str, content: &'static str) -> Response {
    let content_type = match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        _ => "text/javascript; charset=utf-8",
    };
    let changed = folder.and_then(|folder| std::fs::read_to_string(folder.join(name)).ok());
    let mut response = changed.map_or_else(|| content.into_response(), IntoResponse::into_response);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    // A new version of the program may have a new version of the file.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

//! The files of the page, which are part of the program.

use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use osier_viewer::assets::{LIVE_PAGE, WEB_FILES};

use crate::error::ApiError;

pub(crate) async fn start_page() -> Response {
    response("live.html", LIVE_PAGE)
}

pub(crate) async fn asset(Path(name): Path<String>) -> Result<Response, ApiError> {
    let file = WEB_FILES.iter().find(|file| file.name == name);
    let file = file.ok_or_else(|| ApiError::with_status(StatusCode::NOT_FOUND, "no such file"))?;
    Ok(response(file.name, file.content))
}

fn response(name: &str, content: &'static str) -> Response {
    let content_type = match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        _ => "text/javascript; charset=utf-8",
    };
    let mut response =
        changed_file(name).map_or_else(|| content.into_response(), IntoResponse::into_response);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    // A new version of the program may have a new version of the file.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// The file as it is on the disk, for work on the page: debug builds read the folder in `OSIER_WEB_FILES`.
#[cfg(debug_assertions)]
fn changed_file(name: &str) -> Option<String> {
    let folder = std::env::var_os("OSIER_WEB_FILES")?;
    std::fs::read_to_string(std::path::Path::new(&folder).join(name)).ok()
}

#[cfg(not(debug_assertions))]
fn changed_file(_: &str) -> Option<String> {
    None
}

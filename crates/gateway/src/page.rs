//! The files of the page, which are part of the program.

use std::path::Path as FilePath;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use osier_viewer::assets::{LIVE_PAGE, WEB_FILES, web_files_version};

use crate::error::ApiError;
use crate::gateway::Gateway;

/// The page names its files with their version, so that a browser asks for each only once.
pub(crate) async fn start_page(State(gateway): State<Arc<Gateway>>) -> Response {
    let page = changed_file(gateway.web_files(), "live.html").unwrap_or_else(|| LIVE_PAGE.to_owned());
    let page = match gateway.web_files() {
        Some(_) => page,
        None => page.replace("\"/assets/", &format!("\"/assets/{}/", web_files_version())),
    };
    response("live.html", page, CHECK_FIRST)
}

/// Something that may change with each version of the program.
const CHECK_FIRST: &str = "no-cache";
/// A file whose address has its version.
const NEVER_CHANGES: &str = "public, max-age=31536000, immutable";

/// A file by its name, with or without a version before it.
pub(crate) async fn asset(
    State(gateway): State<Arc<Gateway>>,
    Path(path): Path<String>,
) -> Result<Response, ApiError> {
    let (version, name) = path.split_once('/').unwrap_or(("", &path));
    let file = WEB_FILES.iter().find(|file| file.name == name);
    let file = file.ok_or_else(|| ApiError::with_status(StatusCode::NOT_FOUND, "no such file"))?;
    Ok(match changed_file(gateway.web_files(), name) {
        Some(changed) => response(name, changed, CHECK_FIRST),
        // A page of another version of the program may be open.
        None if version != web_files_version() => response(name, file.content, CHECK_FIRST),
        None => response(name, file.content, NEVER_CHANGES),
    })
}

/// A file as somebody works on it.
fn changed_file(folder: Option<&FilePath>, name: &str) -> Option<String> {
    std::fs::read_to_string(folder?.join(name)).ok()
}

/// A page that says one thing, in the style of the others. `text` is HTML.
pub(crate) fn notice_page(status: StatusCode, title: &str, text: &str) -> Response {
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>Osier: {title}</title>\n\
         <link rel=\"stylesheet\" href=\"/assets/style.css\">\n<link rel=\"stylesheet\" href=\"/assets/live.css\">\n\
         </head>\n<body>\n<main class=\"empty\">\n<h2>{title}</h2>\n{text}\n</main>\n</body>\n</html>\n"
    );
    (status, Html(page)).into_response()
}

fn response(name: &str, content: impl IntoResponse, caching: &'static str) -> Response {
    let content_type = match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        _ => "text/javascript; charset=utf-8",
    };
    let mut response = content.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    response
}

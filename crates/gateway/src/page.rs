//! The files of the page, which are part of the program.

use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;

/// A file of the page.
#[derive(Debug)]
struct PageFile {
    name: &'static str,
    content_type: &'static str,
    content: &'static [u8],
}

const START_PAGE: PageFile = PageFile {
    name: "index.html",
    content_type: "text/html; charset=utf-8",
    content: include_bytes!("../page/index.html"),
};

/// The files below `/assets/`.
const ASSETS: &[PageFile] = &[PageFile {
    name: "page.css",
    content_type: "text/css; charset=utf-8",
    content: include_bytes!("../page/page.css"),
}];

pub(crate) async fn start_page() -> Response {
    START_PAGE.response()
}

pub(crate) async fn asset(Path(name): Path<String>) -> Result<Response, ApiError> {
    let file = ASSETS.iter().find(|file| file.name == name);
    let file = file.ok_or_else(|| ApiError::with_status(StatusCode::NOT_FOUND, "no such file"))?;
    Ok(file.response())
}

impl PageFile {
    fn response(&self) -> Response {
        let mut response = self.content.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        // A new version of the program may have a new version of the file.
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }
}

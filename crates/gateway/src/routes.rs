//! All routes, in one function.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use tokio::time::timeout;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::RequestBodyTimeoutLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{authenticate, check_host};
use crate::api::{
    access, branches, commands, engine, entries, queries, rendered, sessions, snapshot, typed_entries,
};
use crate::error::ApiError;
use crate::gateway::Gateway;
use crate::{headers, login, openapi, page, web_socket};

/// The routes of the API, with their documentation.
pub(crate) fn api() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .routes(routes!(engine::describe))
        .routes(routes!(access::describe))
        .routes(routes!(web_socket::connect))
        .routes(routes!(engine::models))
        .routes(routes!(engine::agents))
        .routes(routes!(engine::settings))
        .routes(routes!(engine::change_setting))
        .routes(routes!(sessions::list, sessions::create))
        .routes(routes!(sessions::get, sessions::update, sessions::delete))
        .routes(routes!(sessions::fork))
        .routes(routes!(sessions::branch))
        .routes(routes!(snapshot::snapshot))
        .routes(routes!(snapshot::path))
        .routes(routes!(snapshot::context))
        .routes(routes!(snapshot::tree))
        .routes(routes!(snapshot::export))
        .routes(routes!(rendered::entries))
        .routes(routes!(rendered::render))
        .routes(routes!(entries::list, entries::append))
        .routes(routes!(entries::get, entries::update, branches::delete))
        .routes(routes!(branches::restore))
        .routes(routes!(typed_entries::append_message))
        .routes(routes!(typed_entries::append_thinking_level))
        .routes(routes!(typed_entries::append_model_change))
        .routes(routes!(typed_entries::append_compaction))
        .routes(routes!(typed_entries::append_branch_summary))
        .routes(routes!(typed_entries::label))
        .routes(routes!(typed_entries::rename))
        .routes(routes!(commands::prompt))
        .routes(routes!(commands::resume))
        .routes(routes!(commands::cancel))
        .routes(routes!(commands::clear_queue))
        .routes(routes!(commands::answer))
        .routes(routes!(commands::move_leaf))
        .routes(routes!(commands::undo))
        .routes(routes!(commands::redo))
        .routes(routes!(commands::compact))
        .routes(routes!(commands::undo_compaction))
        .routes(routes!(commands::graft))
        .routes(routes!(commands::shell))
        .routes(routes!(commands::update_agent))
        .routes(routes!(commands::change_settings, queries::settings))
        .routes(routes!(queries::state))
        .routes(routes!(queries::status))
        .routes(routes!(queries::usage))
        .routes(routes!(queries::compare))
        .routes(routes!(queries::models))
        .routes(routes!(queries::files))
        .routes(routes!(queries::commands))
        .routes(routes!(queries::compaction))
        .routes(routes!(queries::fork_points))
}

/// Everything that the gateway serves.
pub(crate) fn router(gateway: Arc<Gateway>) -> Router {
    let limits = gateway.limits().clone();
    let (api, document) = api().split_for_parts();
    let document = Arc::new(openapi::complete(document));
    let document = get(move || async move { Json(document.as_ref().clone()) });
    let with_token = api
        .route("/logout", post(login::log_out))
        .route_layer(from_fn_with_state(gateway.clone(), finish_changes))
        .route_layer(from_fn_with_state(gateway.clone(), authenticate));
    Router::new()
        .merge(with_token)
        .route("/api/openapi.json", document)
        .route("/", get(page::start_page))
        .route("/assets/{*name}", get(page::asset))
        .route("/login/{link}", any(login::log_in))
        .fallback(unknown_route)
        .method_not_allowed_fallback(unknown_method)
        .layer(
            ServiceBuilder::new()
                .layer(from_fn_with_state(gateway.clone(), headers::add_security_headers))
                .layer(CatchPanicLayer::custom(panicked))
                .layer(from_fn_with_state(gateway.clone(), check_host))
                .layer(from_fn_with_state(gateway.clone(), limit_time))
                .layer(RequestBodyTimeoutLayer::new(limits.pause))
                .layer(DefaultBodyLimit::max(limits.body_bytes)),
        )
        .with_state(gateway)
}

async fn unknown_route() -> ApiError {
    ApiError::with_status(StatusCode::NOT_FOUND, "no such endpoint; /api/openapi.json lists them")
}

async fn unknown_method() -> ApiError {
    ApiError::with_status(StatusCode::METHOD_NOT_ALLOWED, "the endpoint does not have this method")
}

/// Runs a request that changes something to its end, even if the client leaves or the time is up.
async fn finish_changes(State(gateway): State<Arc<Gateway>>, request: Request, next: Next) -> Response {
    if request.method().is_safe() {
        return next.run(request).await;
    }
    match gateway.unfinished().spawn(next.run(request)).await {
        Ok(response) => response,
        // The task is never canceled, so it panicked. The layer above answers.
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

/// Limits the time until a response starts.
async fn limit_time(
    State(gateway): State<Arc<Gateway>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let late = |_| ApiError::with_status(StatusCode::GATEWAY_TIMEOUT, "the request took too long");
    timeout(gateway.limits().request, next.run(request)).await.map_err(late)
}

/// A bug in a handler must not end the connection without an answer.
fn panicked(_: Box<dyn std::any::Any + Send + 'static>) -> Response {
    tracing::error!("a handler panicked");
    ApiError::new(osier_protocol::ErrorCode::Failed, "the gateway failed to handle the request")
        .into_response()
}

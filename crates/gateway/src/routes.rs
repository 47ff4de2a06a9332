//! All routes, in one function.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
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
    access, branches, commands, engine, entries, explores, queries, rendered, sessions, snapshot, tasks,
    typed_entries,
};
use crate::error::ApiError;
use crate::gateway::Gateway;
use crate::{headers, idle, login, openapi, page, web_socket};

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
        .routes(routes!(snapshot::rows))
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
        .routes(routes!(queries::search))
        .routes(routes!(explores::list, explores::explore))
        .routes(routes!(explores::compare))
        .routes(routes!(tasks::list))
        .routes(routes!(tasks::steer))
        .routes(routes!(tasks::cancel))
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
                .layer(from_fn(idle::count_request))
                .layer(from_fn_with_state(gateway.clone(), headers::add_security_headers))
                .layer(CatchPanicLayer::custom(panicked))
                .layer(from_fn_with_state(gateway.clone(), check_host))
                .layer(from_fn_with_state(gateway.clone(), limit_time))
                .layer(RequestBodyTimeoutLayer::new(limits.pause))
                .layer(DefaultBodyLimit::max(limits.body_bytes)),
        )
        .with_state(gateway)
}

/// A browser gets a page, a program an error.
async fn unknown_route(uri: Uri, headers: HeaderMap) -> Response {
    let accepted =
        headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
    if accepted.contains("text/html") && !uri.path().starts_with("/api/") {
        let text = "<p>The address may be incomplete. <a href=\"/\">Open Osier</a></p>";
        return page::notice_page(StatusCode::NOT_FOUND, "There is no such page", text);
    }
    let message = "no such endpoint; /api/openapi.json lists them";
    ApiError::with_status(StatusCode::NOT_FOUND, message).into_response()
}

async fn unknown_method() -> ApiError {
    ApiError::with_status(
        StatusCode::METHOD_NOT_ALLOWED,
        "the endpoint does not have this method; /api/openapi.json lists those it has",
    )
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
    let late = |_| {
        ApiError::with_status(
            StatusCode::GATEWAY_TIMEOUT,
            "the request took too long; a change may still be made, so read the session again",
        )
    };
    timeout(gateway.limits().request, next.run(request)).await.map_err(late)
}

/// A bug in a handler must not end the connection without an answer.
fn panicked(_: Box<dyn std::any::Any + Send + 'static>) -> Response {
    tracing::error!("a handler panicked");
    ApiError::new(
        osier_protocol::ErrorCode::Failed,
        "the gateway failed to handle the request; its log says why",
    )
    .into_response()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use async_trait::async_trait;
    use osier_engine::{AllowedDirectories, Engine};
    use osier_protocol::{ClientError, EngineClient, EngineReply, EngineRequest, OpenRequest, OpenedSession};

    use super::*;
    use crate::{GatewayConfig, HostRules, Limits, TokenFile};

    #[derive(Debug)]
    struct NoEngine;

    #[async_trait]
    impl EngineClient for NoEngine {
        async fn call(&self, _: EngineRequest) -> Result<EngineReply, ClientError> {
            std::future::pending().await
        }

        async fn open(&self, _: OpenRequest) -> Result<Option<OpenedSession>, ClientError> {
            std::future::pending().await
        }
    }

    pub(crate) fn gateway() -> Arc<Gateway> {
        let folder = tempfile::tempdir().unwrap();
        Arc::new(Gateway::new(GatewayConfig {
            engine: Engine::default(),
            client: Arc::new(NoEngine),
            token: TokenFile::open(&folder.path().join("token")).unwrap(),
            hosts: HostRules::default(),
            directories: AllowedDirectories::default(),
            default_directory: folder.path().to_owned(),
            used_links: folder.path().join("links"),
            default_store: "file".to_owned(),
            port: 1,
            is_secure: false,
            limits: Limits::default(),
            web_files: None,
        }))
    }

    /// The paths of a router. Axum shows them only in its debugging output: `RouteId(7): "/api/models"`.
    fn registered_paths(router: &Router) -> BTreeSet<String> {
        let text = format!("{router:?}");
        let (text, _) = text.split_once("fallback_router").expect("the fallback follows the routes");
        let routes = text.split("RouteId(").filter_map(|part| part.split_once("): \"")?.1.split_once('"'));
        routes.map(|(path, _)| path.to_owned()).collect()
    }

    /// What browsers load. Programs need none of it, so the document does not describe it.
    const PAGE_PATHS: [&str; 5] = ["/", "/assets/{*name}", "/login/{link}", "/logout", "/api/openapi.json"];

    #[test]
    fn the_document_has_every_path_that_the_gateway_serves() {
        let documented = api().into_openapi().paths.paths.into_keys();
        let expected: BTreeSet<String> = documented.chain(PAGE_PATHS.map(str::to_owned)).collect();
        assert!(expected.len() > 50, "{expected:?}");
        assert_eq!(registered_paths(&router(gateway())), expected);
    }
}

//! The address of a gateway, as the user gives it.

use anyhow::Result;

use crate::failure::usage_error;

/// Where a gateway has its WebSocket.
const SOCKET_PATH: &str = "/ws";

/// The URL of the WebSocket of a gateway. A token in it is refused: URLs end up in logs, histories and lists of processes.
pub(super) fn websocket_url(text: &str) -> Result<String> {
    if text.contains(['?', '#', '@']) {
        return Err(usage_error(
            "--connect takes a URL without a token: URLs end up in logs and histories; \
             set OSIER_TOKEN, or use --token-file FILE",
        ));
    }
    let invalid =
        || usage_error(format!("{text} is not the URL of a gateway; for example: http://127.0.0.1:7433"));
    let (scheme, rest) = text.split_once("://").ok_or_else(invalid)?;
    let scheme = match scheme {
        "ws" | "http" => "ws",
        "wss" | "https" => "wss",
        _ => return Err(invalid()),
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if host.is_empty() || host.chars().any(char::is_whitespace) {
        return Err(invalid());
    }
    let path = format!("/{}", path.trim_end_matches('/'));
    let folder = path.strip_suffix(SOCKET_PATH).unwrap_or(&path).trim_end_matches('/');
    Ok(format!("{scheme}://{host}{folder}{SOCKET_PATH}"))
}

/// The host of a gateway, with its port if the URL has one.
pub(super) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default()
}

/// Whether nobody on a network can read a connection to a URL.
pub(super) fn is_private(url: &str) -> bool {
    url.starts_with("wss://") || local_port(url).is_some()
}

/// The port, if a URL leads to this machine.
pub(super) fn local_port(url: &str) -> Option<u16> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split('/').next().unwrap_or_default();
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(name, port)| (name, port.strip_prefix(':')))?,
        None => host.rsplit_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    let default = if scheme == "wss" { 443 } else { 80 };
    let is_local =
        name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    is_local.then(|| port.map_or(Some(default), |port| port.parse().ok())).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_the_url_of_a_websocket_or_refused_without_repeating_a_token(text in "(http|ws|wss|x)?(://)?[ -~]{0,20}") {
            match websocket_url(&text) {
                Ok(url) => {
                    prop_assert!(url.starts_with("ws://") || url.starts_with("wss://"), "{url}");
                    prop_assert!(url.ends_with("/ws") && !url.contains(['?', '#', '@']), "{url}");
                    prop_assert!(!host(&url).is_empty() && !host(&url).contains(' '), "{url}");
                    prop_assert_eq!(websocket_url(&url).unwrap(), url, "its own URL is the same");
                }
                Err(error) if text.contains(['?', '#', '@']) => {
                    prop_assert!(text.len() < 3 || !error.to_string().contains(&text), "{error}");
                }
                Err(_) => {}
            }
        }

        #[test]
        fn the_folder_stays_whatever_its_name_ends_with(folders in prop::collection::vec("[a-z]{0,2}(ws)?[a-z]", 0..3)) {
            let folder: String = folders.iter().map(|folder| format!("/{folder}")).collect();
            for end in ["", "/", "/ws", "/ws/"] {
                let url = websocket_url(&format!("https://box{folder}{end}")).unwrap();
                prop_assert_eq!(url, format!("wss://box{folder}/ws"));
            }
        }

        #[test]
        fn only_names_of_this_machine_have_a_local_port(text in "(ws|wss)://[a-z0-9.:\\[\\]]{0,20}/ws") {
            if let Some(port) = local_port(&text) {
                let name = host(&text).trim_end_matches(&format!(":{port}"));
                let address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
                let is_loopback = address.is_ok_and(|address| address.is_loopback());
                prop_assert!(is_loopback || name == "localhost", "{text}");
            }
        }
    }

    #[test]
    fn http_and_websocket_urls_lead_to_the_websocket() {
        for (given, expected) in [
            ("http://127.0.0.1:7433", "ws://127.0.0.1:7433/ws"),
            ("https://box.example/", "wss://box.example/ws"),
            ("ws://localhost:1/ws", "ws://localhost:1/ws"),
            ("wss://team.example/osier", "wss://team.example/osier/ws"),
            ("wss://team.example/news", "wss://team.example/news/ws"),
        ] {
            assert_eq!(websocket_url(given).unwrap(), expected);
        }
        for wrong in ["box", "ftp://box", "http://", "http:///ws"] {
            assert!(websocket_url(wrong).unwrap_err().to_string().contains("not the URL"), "{wrong}");
        }
    }

    #[test]
    fn the_host_has_its_port() {
        assert_eq!(host("http://127.0.0.1:7433"), "127.0.0.1:7433");
        assert_eq!(host("wss://team.example/osier"), "team.example");
    }

    #[test]
    fn a_token_in_the_url_is_refused_without_repeating_it() {
        for url in ["http://box/?token=s3cret", "http://user:s3cret@box", "http://box/#s3cret"] {
            let error = websocket_url(url).unwrap_err().to_string();
            assert!(error.contains("OSIER_TOKEN") && !error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn only_loopback_addresses_are_this_machine() {
        for url in ["ws://localhost:1/ws", "ws://127.0.0.1/ws", "ws://[::1]:7433/ws"] {
            assert!(local_port(url).is_some(), "{url}");
        }
        for url in ["ws://box/ws", "ws://127.0.0.1.example/ws", "ws://10.0.0.1:1/ws"] {
            assert!(local_port(url).is_none(), "{url}");
        }
    }
}

//! The façade over a real server.

use crate::database::Fresh;

osier_session::sessions_tests!(Fresh::default());

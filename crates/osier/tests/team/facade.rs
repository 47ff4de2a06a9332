//! The contract tests of the session facade on a real server.

use crate::database::Fresh;

osier_session::sessions_tests!(Fresh::default());

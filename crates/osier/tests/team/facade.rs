//! The contract tests of the session facade on a real server.

use crate::database::DatabaseFixture;

osier_engine::sessions_tests!(DatabaseFixture::default());

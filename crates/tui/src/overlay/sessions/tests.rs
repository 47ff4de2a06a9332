//! Keys in, screens out.

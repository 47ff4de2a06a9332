//! Messages in, screens out.

//! Holds `claims` to a verdict for every statement, and to those that its documentation has.

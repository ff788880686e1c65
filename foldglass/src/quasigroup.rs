//! Builds Latin squares and states their algebraic facts (paper, section 2).

//! Floods the landscape of a small class: which maxima merge where (paper, App. G.6).

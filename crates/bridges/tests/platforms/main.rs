//! Every adapter against its platform, or a fake of it: the same promises for all, and what is particular to each.

mod conformance;
mod matrix;

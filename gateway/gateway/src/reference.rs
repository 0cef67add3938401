//! The reference of the flags of `waggle-gateway`: `cargo xtask reference` writes it.

use clap::CommandFactory;
use waggle_flags::flags_page;
use waggle_testkit::check_page;

use crate::Arguments;

const HEAD: &str = "# Flags of `waggle-gateway` and `waggle-sink`

Every command with its flags, as `--help` prints them; written from the code by `cargo xtask reference`. `waggle-sink` is the sink
alone and has the flags of `waggle-gateway sink`. What they are for: [HTTP calls](http.md), [sink](sink.md).
[Exit codes](../../docs/reference/exit-codes.md#waggle-gateway-and-waggle-sink) have a page of their own.
";

#[test]
fn the_reference_of_flags_is_that_of_the_code() {
    let page = HEAD.to_owned() + &flags_page(Arguments::command());
    check_page("../gateway/docs/flags.md", &page);
}

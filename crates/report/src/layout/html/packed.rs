//! What only scripts read, compressed: the charts' library, the page's own scripts, the charts' data. `assets/page/loader.js` unpacks it.

use std::{io::Write, sync::LazyLock};

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, write::ZlibEncoder};
use maud::{Markup, html};

use super::inlined;

/// The library takes longer than a whole page, and is the same in each.
pub(super) static LIBRARY: LazyLock<String> = LazyLock::new(|| compress(inlined::LIBRARY));
pub(super) static OWN_SCRIPTS: LazyLock<String> = LazyLock::new(|| compress(&inlined::OWN_SCRIPTS));

/// In zlib's format, as Base64.
pub(super) fn compress(text: &str) -> String {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::best());
    let bytes = out.write_all(text.as_bytes()).and_then(|()| out.finish());
    STANDARD.encode(bytes.expect("nothing fails in memory"))
}

/// No script by its type, so that no browser runs it; Base64 has no letter that ends an element.
pub(super) fn element(id: &str, packed: &str) -> Markup {
    html! { script type="text/plain" id=(id) data-packed="zlib base64" { (packed) } }
}

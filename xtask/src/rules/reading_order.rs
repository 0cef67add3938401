//! What keeps a reader from the main line: long closures, locals that are no nouns, tuples as parameters, and errors without a type.

use std::collections::BTreeSet;

use syn::{
    Expr, ExprClosure, FieldPat, FnArg, GenericArgument, ImplItemFn, ItemFn, ItemMod, PatIdent,
    PathArguments, ReturnType, Signature, Stmt, Type, Visibility,
    spanned::Spanned,
    visit::{self, Visit},
};

use super::Finding;

/// Most lines of a closure that has steps; what is longer is a function with a name.
const STEPS_LINES_MAX: usize = 3;
/// Most lines of a closure that is one expression: a literal of a struct, a `match`, a call.
const EXPRESSION_LINES_MAX: usize = 8;
/// Names of locals that say nothing.
const EMPTY_LOCALS: [&str; 5] = ["at", "found", "of", "one", "own"];
/// Types of which a pair is a range.
const NUMBERS: [&str; 8] = ["Duration", "f64", "i64", "u8", "u16", "u32", "u64", "usize"];

/// Every breach in the text of a source. Tests may have long closures, which stand where they are checked, and tuples, which are
/// rows of a table.
pub(super) fn breaches(file: &str, text: &str) -> Vec<Finding> {
    let Ok(source) = syn::parse_file(text) else {
        return Vec::new();
    };
    let mut reader = Reader {
        findings: Vec::new(),
        in_tests: is_test(file),
    };
    reader.visit_file(&source);
    reader.findings
}

fn is_test(file: &str) -> bool {
    file.ends_with("/tests.rs")
        || ["/tests/", "/benches/", "/examples/"]
            .iter()
            .any(|folder| file.contains(folder))
}

struct Reader {
    findings: Vec<Finding>,
    in_tests: bool,
}

impl Reader {
    fn report(&mut self, place: &impl Spanned, rule: String) {
        self.findings.push((place.span().start().line, rule));
    }

    fn check_signature(&mut self, signature: &Signature, visibility: &Visibility) {
        if self.in_tests {
            return;
        }
        for input in &signature.inputs {
            if matches!(input, FnArg::Typed(input) if is_tuple(&input.ty)) {
                let rule = "takes a tuple; parameters, or fields of a struct, have names";
                self.report(input, rule.to_owned());
            }
        }
        let is_public = !matches!(visibility, Visibility::Inherited);
        if is_public && has_text_error(&signature.output) {
            let rule = format!(
                "{} returns a String as error; an error has a type",
                signature.ident
            );
            self.report(signature, rule);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let outside = self.in_tests;
        self.in_tests |= item.ident == "tests";
        visit::visit_item_mod(self, item);
        self.in_tests = outside;
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.check_signature(&item.sig, &item.vis);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.check_signature(&item.sig, &item.vis);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_expr_closure(&mut self, closure: &'ast ExprClosure) {
        let (lines, limit) = size(&closure.body);
        if lines > limit && !self.in_tests {
            let rule =
                format!("a closure of {lines} lines, more than {limit}; a function has a name");
            self.report(closure, rule);
        }
        visit::visit_expr_closure(self, closure);
    }

    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        let name = pattern.ident.to_string();
        if EMPTY_LOCALS.contains(&name.as_str()) {
            self.report(
                pattern,
                format!("a local named {name:?}; a noun says what it is"),
            );
        }
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_field_pat(&mut self, field: &'ast FieldPat) {
        // The name of a field that is bound as it is.
        if field.colon_token.is_some() {
            visit::visit_field_pat(self, field);
        }
    }
}

/// The lines of the body of a closure, without its braces, and how many it may have.
fn size(body: &Expr) -> (usize, usize) {
    let span = body.span();
    let lines = span.end().line - span.start().line + 1;
    match body {
        Expr::Block(block) => {
            let has_steps = !matches!(block.block.stmts.as_slice(), [Stmt::Expr(_, None)] | []);
            let limit = if has_steps {
                STEPS_LINES_MAX
            } else {
                EXPRESSION_LINES_MAX
            };
            (lines.saturating_sub(2), limit)
        }
        _ => (lines, EXPRESSION_LINES_MAX),
    }
}

fn is_tuple(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => is_tuple(&reference.elem),
        Type::Tuple(tuple) => {
            let names: BTreeSet<Option<String>> = tuple.elems.iter().map(name).collect();
            let is_number = |name: &String| NUMBERS.contains(&name.as_str());
            let is_range =
                tuple.elems.len() == 2 && names.len() == 1 && names.iter().flatten().any(is_number);
            !is_range
        }
        _ => false,
    }
}

fn has_text_error(output: &ReturnType) -> bool {
    let ReturnType::Type(_, output) = output else {
        return false;
    };
    let Type::Path(path) = &**output else {
        return false;
    };
    let last = path.path.segments.last();
    last.is_some_and(|last| match &last.arguments {
        PathArguments::AngleBracketed(arguments)
            if last.ident == "Result" && arguments.args.len() == 2 => {
            matches!(arguments.args.last(), Some(GenericArgument::Type(error)) if name(error).as_deref() == Some("String"))
        }
        _ => false,
    })
}

/// The last part of the name of a type.
fn name(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => Some(path.path.segments.last()?.ident.to_string()),
        _ => None,
    }
}

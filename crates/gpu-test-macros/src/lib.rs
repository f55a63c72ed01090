//! The attribute `gpu_test`; use it through `standstill_gpu_test`.
//!
//! Belongs here: reading the attribute and wrapping the function. Does not belong here: running anything.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Makes a function a test that runs in a process of its own, under a watchdog.
///
/// `#[gpu_test]` or `#[gpu_test(timeout = "5s")]`, on a function without parameters that returns nothing or a
/// `Result<(), E>`. `#[ignore]` goes with it; `#[should_panic]` does not.
#[proc_macro_attribute]
pub fn gpu_test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    match expand(arguments, item) {
        Ok(tokens) => tokens,
        Err((span, message)) => compile_error(span, &message),
    }
}

type Problem = (Span, String);

fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream, Problem> {
    let milliseconds = timeout(arguments)?;
    let function = Function::read(item)?;
    let call = format!(
        "::standstill_gpu_test::run(::core::module_path!(), {:?}, {milliseconds}, {}, __body)",
        function.name.to_string(),
        function.ignored
    );
    let call: TokenStream = call.parse().map_err(|_| (Span::call_site(), "internal error".to_owned()))?;

    // #[test] ATTRIBUTES fn NAME() RETURNS { fn __body() RETURNS { BODY } CALL }
    let mut inner = signature("__body", function.name.span(), &function.returns);
    inner.extend([TokenTree::Group(function.body)]);
    inner.extend(call);
    let mut outer: TokenStream = "#[::core::prelude::v1::test]".parse().unwrap_or_default();
    outer.extend(function.attributes);
    outer.extend(signature(&function.name.to_string(), function.name.span(), &function.returns));
    outer.extend([TokenTree::Group(Group::new(Delimiter::Brace, inner))]);
    Ok(outer)
}

fn signature(name: &str, span: Span, returns: &[TokenTree]) -> TokenStream {
    let mut tokens = vec![
        TokenTree::Ident(Ident::new("fn", span)),
        TokenTree::Ident(Ident::new(name, span)),
        TokenTree::Group(Group::new(Delimiter::Parenthesis, TokenStream::new())),
    ];
    tokens.extend(returns.iter().cloned());
    tokens.into_iter().collect()
}

/// The pieces of a function.
struct Function {
    attributes: TokenStream,
    ignored: bool,
    name: Ident,
    /// `-> TYPE`, or nothing.
    returns: Vec<TokenTree>,
    body: Group,
}

impl Function {
    fn read(item: TokenStream) -> Result<Function, Problem> {
        let wrong = |span: Span| (span, "#[gpu_test] goes on a function without parameters".to_owned());
        let mut tokens = item.into_iter().peekable();
        let mut attributes = TokenStream::new();
        let mut ignored = false;
        while matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '#') {
            let (Some(mark), Some(attribute)) = (tokens.next(), tokens.next()) else { break };
            let text = attribute.to_string();
            let name = text.trim_matches(['[', ' ']);
            if name.starts_with("should_panic") {
                let message =
                    "a test in a process of its own cannot be #[should_panic]: catch the panic in the body";
                return Err((attribute.span(), message.to_owned()));
            }
            ignored |= name.starts_with("ignore");
            attributes.extend([mark, attribute]);
        }
        let mut last = Span::call_site();
        // Visibility is of no use on a test.
        let name = loop {
            match tokens.next() {
                Some(TokenTree::Ident(word)) if word.to_string() == "fn" => match tokens.next() {
                    Some(TokenTree::Ident(name)) => break name,
                    _ => return Err(wrong(word.span())),
                },
                Some(TokenTree::Ident(word)) if word.to_string() == "async" => {
                    return Err((word.span(), "#[gpu_test] functions cannot be async".to_owned()));
                }
                Some(other) => last = other.span(),
                None => return Err(wrong(last)),
            }
        };
        match tokens.next() {
            Some(TokenTree::Group(parameters))
                if parameters.delimiter() == Delimiter::Parenthesis && parameters.stream().is_empty() => {}
            _ => return Err(wrong(name.span())),
        }
        let mut rest: Vec<TokenTree> = tokens.collect();
        match rest.pop() {
            Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => {
                Ok(Function { attributes, ignored, name, returns: rest, body })
            }
            _ => Err(wrong(name.span())),
        }
    }
}

/// `timeout = "5s"` in milliseconds; a minute when nothing is said.
fn timeout(arguments: TokenStream) -> Result<u64, Problem> {
    let tokens: Vec<TokenTree> = arguments.into_iter().collect();
    let wrong = |span: Span| (span, "write #[gpu_test(timeout = \"5s\")]; units are ms, s and m".to_owned());
    match tokens.as_slice() {
        [] => Ok(60_000),
        [TokenTree::Ident(name), TokenTree::Punct(equals), TokenTree::Literal(value)]
            if name.to_string() == "timeout" && equals.as_char() == '=' =>
        {
            milliseconds(&value.to_string()).ok_or_else(|| wrong(value.span()))
        }
        [first, ..] => Err(wrong(first.span())),
    }
}

fn milliseconds(literal: &str) -> Option<u64> {
    let text = literal.strip_prefix('"')?.strip_suffix('"')?;
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "ms" => 1,
        "s" => 1000,
        "m" | "min" => 60_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor).filter(|time| *time > 0)
}

fn compile_error(span: Span, message: &str) -> TokenStream {
    let mut tokens = [
        TokenTree::Ident(Ident::new("compile_error", span)),
        TokenTree::Punct(Punct::new('!', Spacing::Alone)),
        TokenTree::Group(Group::new(Delimiter::Brace, TokenTree::Literal(Literal::string(message)).into())),
    ];
    for token in &mut tokens {
        token.set_span(span);
    }
    tokens.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn times() {
        assert_eq!(milliseconds("\"5s\""), Some(5000));
        assert_eq!(milliseconds("\"250ms\""), Some(250));
        assert_eq!(milliseconds("\"2m\""), Some(120_000));
        for text in ["5", "\"5\"", "\"\"", "\"0s\"", "\"-5s\"", "\"5h\""] {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }
}

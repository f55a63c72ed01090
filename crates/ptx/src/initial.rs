//! First values of a module's variables, from their initialisers (PTX ISA, «Initializers»).

use standstill_kernel_ir::{Pointer, Program, Symbol, VariableImage};

use crate::Lowering;
use crate::syntax::variable::type_bytes;

impl Lowering<'_, '_> {
    /// The first values of all variables of the module that have one.
    pub fn first_values(&self) -> Vec<VariableImage> {
        let syntax = self.syntax();
        let mut images = Vec::new();
        for &index in &syntax.globals {
            let Some(variable) = syntax.variables.get(index as usize) else { continue };
            let text = syntax.str(variable.initialiser);
            let Some(place) = self.variable(syntax.str(variable.name)) else { continue };
            if text.is_empty() {
                continue;
            }
            let element = type_bytes(syntax.str(variable.ty)).unwrap_or(1);
            let mut reader = Reader {
                text,
                element,
                bytes: Vec::new(),
                pointers: Vec::new(),
                symbol: &|name| self.symbol(name),
            };
            reader.value();
            let (mut bytes, pointers) = (reader.bytes, reader.pointers);
            if let Some(size) = variable.size(syntax.text) {
                bytes.truncate(usize::try_from(size).unwrap_or(usize::MAX));
            }
            images.push(VariableImage { variable: place, bytes, pointers });
        }
        images
    }

    /// The variable of the module with this name.
    pub fn variable(&self, name: &str) -> Option<u32> {
        let index = self.module().variables.iter().position(|variable| variable.name == name)?;
        u32::try_from(index).ok()
    }

    /// The variable or function of the module with this name.
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        self.variable(name).map(Symbol::Module).or_else(|| {
            let index = self.module().functions.iter().position(|function| function.name == name)?;
            Some(Symbol::Function(u32::try_from(index).ok()?))
        })
    }
}

struct Reader<'a> {
    text: &'a str,
    /// Bytes of an element.
    element: u32,
    bytes: Vec<u8>,
    pointers: Vec<Pointer>,
    symbol: &'a dyn Fn(&str) -> Option<Symbol>,
}

impl<'a> Reader<'a> {
    fn skip_space(&mut self) {
        self.text = self.text.trim_start();
    }

    fn eat(&mut self, letter: char) -> bool {
        self.skip_space();
        match self.text.strip_prefix(letter) {
            Some(rest) => {
                self.text = rest;
                true
            }
            None => false,
        }
    }

    /// `{…}` or one element. Nesting only groups: rows that are cut short are followed by zeros, which
    /// compilers write out.
    fn value(&mut self) {
        let mut depth = 0u32;
        loop {
            self.skip_space();
            if self.eat('{') {
                depth += 1;
            } else if self.eat('}') {
                depth = depth.saturating_sub(1);
            } else if !self.eat(',') && (self.text.is_empty() || !self.element()) {
                return;
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn word(&mut self) -> &'a str {
        self.skip_space();
        let end = self
            .text
            .char_indices()
            .find(|(at, c)| !(c.is_alphanumeric() || "_$%.".contains(*c) || (*at == 0 && *c == '-')))
            .map_or(self.text.len(), |(at, _)| at);
        let (word, rest) = self.text.split_at(end);
        self.text = rest;
        word
    }

    /// One element; `false` when the text cannot be read on.
    fn element(&mut self) -> bool {
        if self.text.starts_with('"') {
            return self.string();
        }
        let word = self.word();
        if word.is_empty() {
            return false;
        }
        if let Some(number) = number(word) {
            let value = if self.eat('+') {
                number.wrapping_add(self::number(self.word()).unwrap_or(0))
            } else {
                number
            };
            self.push(value);
            return true;
        }
        match word {
            // The address as a generic one; here both are the same number.
            "generic" => {
                if !self.eat('(') {
                    return false;
                }
                let name = self.word();
                self.eat(')');
                self.address(name)
            }
            // `mask(0xff00, address)`: one byte of an address.
            "mask" => {
                if !self.eat('(') {
                    return false;
                }
                let _ = self.word();
                self.eat(',');
                let _ = self.word();
                while !self.text.is_empty() && !self.eat(')') {
                    self.text = self.text.get(1..).unwrap_or_default();
                }
                self.push(0);
                true
            }
            name => self.address(name),
        }
    }

    fn address(&mut self, name: &str) -> bool {
        // `symbol+8` or `symbol-8`, whose sign is part of the number.
        let has_addend = self.eat('+') || self.text.trim_start().starts_with('-');
        let addend = if has_addend { number(self.word()).unwrap_or(0) as i64 } else { 0 };
        if let Some(symbol) = (self.symbol)(name) {
            let bytes = if self.element == 4 { 4 } else { 8 };
            let offset = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
            self.pointers.push(Pointer { offset, bytes, symbol, addend });
        }
        self.push(0);
        true
    }

    fn push(&mut self, value: u64) {
        let bytes = u128::from(value).to_le_bytes();
        self.bytes.extend(bytes.iter().take(self.element as usize));
    }

    fn string(&mut self) -> bool {
        let mut letters = self.text.char_indices().skip(1);
        let mut bytes = Vec::new();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.text = self.text.get(at + 1..).unwrap_or_default();
                    self.bytes.extend(bytes);
                    return true;
                }
                '\\' => {
                    let escaped = letters.next().map_or('\\', |(_, c)| c);
                    bytes.push(match escaped {
                        'n' => b'\n',
                        't' => b'\t',
                        'r' => b'\r',
                        '0' => 0,
                        other => u8::try_from(other).unwrap_or(b'?'),
                    });
                }
                other => {
                    let mut buffer = [0; 4];
                    bytes.extend(other.encode_utf8(&mut buffer).as_bytes());
                }
            }
        }
        false
    }
}

/// An integer, or the bits of a float.
fn number(word: &str) -> Option<u64> {
    let (negative, digits) = match word.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let digits = digits.trim_end_matches(['U', 'u']);
    let value = if let Some(bits) = digits.strip_prefix("0f").or_else(|| digits.strip_prefix("0F")) {
        let bits = u32::from_str_radix(bits, 16).ok()?;
        u64::from(if negative { bits ^ (1 << 31) } else { bits })
    } else if let Some(bits) = digits.strip_prefix("0d").or_else(|| digits.strip_prefix("0D")) {
        let bits = u64::from_str_radix(bits, 16).ok()?;
        if negative { bits ^ (1 << 63) } else { bits }
    } else {
        let value = if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            u64::from_str_radix(hex, 16).ok()?
        } else if let Some(binary) = digits.strip_prefix("0b") {
            u64::from_str_radix(binary, 2).ok()?
        } else if digits.len() > 1 && digits.starts_with('0') {
            u64::from_str_radix(digits, 8).ok()?
        } else {
            digits.parse().ok()?
        };
        if negative { value.wrapping_neg() } else { value }
    };
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(declaration: &str, bytes: &[u8], pointers: usize) {
        let text =
            format!(".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 other;\n{declaration}\n");
        let module = crate::parse(&text);
        let images = Lowering::new(&module).first_values();
        assert_eq!(images.len(), 1);
        assert_eq!(images[0].bytes, bytes);
        assert_eq!(images[0].pointers.len(), pointers);
    }

    #[test]
    fn values_become_bytes() {
        check(".global .u32 a = 258;", &[2, 1, 0, 0], 0);
        check(".global .align 4 .b8 a[4] = {1, 0xff, -1, 7};", &[1, 255, 255, 7], 0);
        check(".const .s16 a[2][2] = {{1, 2}, {3, -1}};", &[1, 0, 2, 0, 3, 0, 255, 255], 0);
        check(".global .f32 a = 0f3F800000;", &1f32.to_le_bytes(), 0);
        check(".global .f64 a[1] = {0d3FF0000000000000};", &1f64.to_le_bytes(), 0);
        check(".global .u64 a[2] = {other, generic(other)+8};", &[0; 16], 2);
    }
}

//! Headers of functions.

use crate::error::ErrorKind;
use crate::parser::Parser;
use crate::span::{Span, offset};
use crate::syntax::function::{FunctionSyntax, Limits};
use crate::syntax::variable::{Linkage, RegisterDeclaration, VariableSpace};

impl Parser<'_> {
    /// A function behind `.entry` or `.func`; `start` is where its first directive began.
    pub(super) fn function(&mut self, start: usize, entry: bool, linkage: Linkage) {
        self.scopes.clear();
        self.marks.clear();
        let registers = offset(self.module.registers.len());
        let statements = offset(self.module.statements.len());
        let mut function = FunctionSyntax { entry, linkage, ..FunctionSyntax::default() };
        self.header(&mut function);
        self.trivia();
        let opened = self.cursor.at;
        match self.cursor.peek() {
            b'{' => {
                self.cursor.at += 1;
                function.defined = true;
                self.parameter_registers(&function);
                self.body(opened);
            }
            b';' => self.cursor.at += 1,
            _ => {
                self.error_here(ErrorKind::Expected("a body or `;`"));
                self.cursor.recover();
            }
        }
        for &(declaration, first) in self.scopes.met() {
            if let Some(&range) = self.module.registers.get(declaration as usize) {
                self.module.registers.push(RegisterDeclaration { first, count: 1, range: false, ..range });
            }
        }
        function.registers = registers..offset(self.module.registers.len());
        function.register_count = self.scopes.count();
        function.statements = statements..offset(self.module.statements.len());
        function.span = Span::new(start, self.cursor.at);
        self.module.functions.push(function);
    }

    /// Attributes, results, name, parameters and directives.
    fn header(&mut self, function: &mut FunctionSyntax) {
        self.trivia();
        while self.cursor.peek() == b'.' {
            self.limit(&mut function.limits);
            self.trivia();
        }
        if self.cursor.peek() == b'(' {
            function.results = self.parameters();
        }
        self.trivia();
        while self.cursor.peek() == b'.' {
            self.limit(&mut function.limits);
            self.trivia();
        }
        function.name = self.next_word();
        if function.name.is_empty() {
            self.error_here(ErrorKind::Expected("a function's name"));
        }
        self.trivia();
        if self.cursor.peek() == b'(' {
            function.parameters = self.parameters();
        }
        self.trivia();
        while self.cursor.peek() == b'.' {
            self.limit(&mut function.limits);
            self.trivia();
        }
    }

    /// One directive between the header and the body.
    fn limit(&mut self, limits: &mut Limits) {
        let word = self.directive();
        match self.str(word) {
            "maxntid" => limits.max_threads = self.extents(),
            "reqntid" => limits.required_threads = self.extents(),
            "reqnctapercluster" => limits.required_cluster = self.extents(),
            "minnctapersm" => limits.min_blocks = self.extent(),
            "maxnctapersm" => limits.max_blocks = self.extent(),
            "maxnreg" => limits.max_registers = self.extent(),
            "maxclusterrank" => limits.max_cluster = self.extent(),
            "explicitcluster" => limits.explicit_cluster = true,
            "blocksareclusters" => limits.blocks_are_clusters = true,
            "noreturn" => limits.no_return = true,
            "attribute" => {
                self.trivia();
                self.parentheses();
            }
            "pragma" => {
                self.trivia();
                if let Some(text) = self.cursor.string(&mut self.module.errors) {
                    self.module.pragmas.push(text);
                }
                self.trivia();
                self.cursor.eat(b';');
            }
            // `.abi_preserve 8`, `.unified` and what later versions add: numbers behind it belong to it.
            _ => {
                self.extents();
            }
        }
    }

    fn extent(&mut self) -> Option<u32> {
        self.trivia();
        self.count32()
    }

    /// Up to three numbers; those left out are 1.
    fn extents(&mut self) -> Option<[u32; 3]> {
        let mut extents = [1; 3];
        let mut read = false;
        for extent in &mut extents {
            let Some(value) = self.extent() else { break };
            (*extent, read) = (value, true);
            self.trivia();
            if !self.cursor.eat(b',') {
                break;
            }
        }
        read.then_some(extents)
    }

    /// Parameters and results that are registers are declared like those of the body.
    fn parameter_registers(&mut self, function: &FunctionSyntax) {
        for index in function.results.clone().chain(function.parameters.clone()) {
            let Some(&variable) = self.module.variables.get(index as usize) else { continue };
            if variable.space == VariableSpace::Register && !variable.name.is_empty() {
                self.add_register(variable.name, variable.ty, variable.vector, false, 1);
            }
        }
    }
}

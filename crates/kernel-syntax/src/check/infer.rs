//! Types that are not known yet.

use crate::types::{Scalar, Ty};

/// What a type that is not known may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    Any,
    Integer,
    Float,
}

/// What is known of each variable.
#[derive(Debug, Clone)]
enum State {
    Open(Hint),
    Is(Ty),
}

/// All type variables of a function.
#[derive(Debug, Default)]
pub(super) struct Inference {
    states: Vec<State>,
}

impl Inference {
    pub(super) fn fresh(&mut self, hint: Hint) -> Ty {
        self.states.push(State::Open(hint));
        Ty::Variable(self.states.len() as u32 - 1)
    }

    /// The type as far as it is known.
    pub(super) fn resolve(&self, ty: &Ty) -> Ty {
        let mut ty = ty;
        // Variables stand only for variables made before or for types: no circles.
        while let Ty::Variable(index) = ty {
            match self.states.get(*index as usize) {
                Some(State::Is(known)) => ty = known,
                _ => break,
            }
        }
        ty.clone()
    }

    pub(super) fn hint(&self, ty: &Ty) -> Option<Hint> {
        match self.resolve(ty) {
            Ty::Variable(index) => match self.states.get(index as usize) {
                Some(State::Open(hint)) => Some(*hint),
                _ => None,
            },
            _ => None,
        }
    }

    /// Makes two types one; `false` when they are not.
    pub(super) fn unify(&mut self, a: &Ty, b: &Ty) -> bool {
        let (a, b) = (self.resolve(a), self.resolve(b));
        match (&a, &b) {
            (Ty::Wrong | Ty::Never, _) | (_, Ty::Wrong | Ty::Never) => true,
            (Ty::Variable(x), Ty::Variable(y)) if x == y => true,
            (Ty::Variable(x), Ty::Variable(y)) => {
                let (hint_a, hint_b) = (self.hint(&a), self.hint(&b));
                let joined = match (hint_a, hint_b) {
                    (Some(Hint::Any), other) | (other, Some(Hint::Any)) => other,
                    (x, y) if x == y => x,
                    _ => return false,
                };
                // The younger one stands for the older.
                let (young, old) = if x > y { (*x, *y) } else { (*y, *x) };
                self.set(old, State::Open(joined.unwrap_or(Hint::Any)));
                self.set(young, State::Is(Ty::Variable(old)));
                true
            }
            (Ty::Variable(x), ty) | (ty, Ty::Variable(x)) => {
                let fits = match self.states.get(*x as usize) {
                    Some(State::Open(Hint::Integer)) => ty.scalar().is_some_and(Scalar::is_integer),
                    Some(State::Open(Hint::Float)) => ty.scalar().is_some_and(Scalar::is_float),
                    _ => true,
                };
                if fits {
                    self.set(*x, State::Is(ty.clone()));
                }
                fits
            }
            (Ty::Array(x, n), Ty::Array(y, m)) => n == m && self.unify(x, y),
            (Ty::Slice(x, m), Ty::Slice(y, n)) | (Ty::Reference(x, m), Ty::Reference(y, n)) => {
                m == n && self.unify(x, y)
            }
            _ => a == b,
        }
    }

    fn set(&mut self, variable: u32, state: State) {
        if let Some(place) = self.states.get_mut(variable as usize) {
            *place = state;
        }
    }

    /// The type, with Rust's defaults for literals that nothing else decides.
    pub(super) fn settle(&self, ty: &Ty) -> Ty {
        match self.resolve(ty) {
            Ty::Variable(index) => match self.states.get(index as usize) {
                Some(State::Open(Hint::Integer)) => Ty::Scalar(Scalar::I32),
                Some(State::Open(Hint::Float)) => Ty::Scalar(Scalar::F64),
                _ => Ty::Unit,
            },
            Ty::Array(element, length) => Ty::Array(Box::new(self.settle(&element)), length),
            Ty::Slice(element, mutable) => Ty::Slice(Box::new(self.settle(&element)), mutable),
            Ty::Reference(to, mutable) => Ty::Reference(Box::new(self.settle(&to)), mutable),
            other => other,
        }
    }

    /// How the type is shown.
    pub(super) fn show(&self, ty: &Ty) -> String {
        match (self.hint(ty), self.resolve(ty)) {
            (Some(Hint::Integer), _) => "integer".into(),
            (Some(Hint::Float), _) => "float".into(),
            (_, known) => known.to_string(),
        }
    }
}

//! Findings in the words of another language: what CUDA C++ calls a block is a tile or a workgroup elsewhere.

use crate::{Finding, Known};

/// The words of a language for those of CUDA C++.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary {
    /// Phrases and what stands for them, longer ones first.
    pub phrases: &'static [(&'static str, &'static str)],
    /// Single words and what stands for them. A word with a hyphen or an underscore in it, such as an option, is another one.
    pub words: &'static [(&'static str, &'static str)],
}

impl Vocabulary {
    /// A text in these words.
    pub fn reader(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (theirs, ours) in self.phrases {
            if text.contains(theirs) {
                text = text.replace(theirs, ours);
            }
        }
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let mut result = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(start) = rest.find(is_word) {
            let (between, from) = rest.split_at(start);
            let (word, after) = from.split_at(from.find(|c| !is_word(c)).unwrap_or(from.len()));
            let ours = self.words.iter().find(|(theirs, _)| *theirs == word);
            result.push_str(between);
            result.push_str(ours.map_or(word, |(_, ours)| ours));
            rest = after;
        }
        result.push_str(rest);
        result
    }

    /// Puts all texts of a finding into these words.
    pub fn tell(&self, finding: &mut Finding) {
        let one = |text: &mut String| *text = self.reader(text);
        one(&mut finding.message);
        one(&mut finding.help);
        finding.notes.iter_mut().for_each(one);
        finding.spans.iter_mut().for_each(|span| one(&mut span.label));
        if let Known::Possible { reason } = &mut finding.known {
            one(reason);
        }
    }
}

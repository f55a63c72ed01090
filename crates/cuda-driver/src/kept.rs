//! PTX as the compiler wrote it. Executables hold it without its comments, and so without the life marks in them.

use std::path::Path;

/// The texts that a compiler left behind.
#[derive(Debug, Default)]
pub struct Kept(Vec<String>);

impl Kept {
    /// Reads all PTX files of a folder; what cannot be read is left out, since it only adds to what a program holds.
    #[must_use]
    pub fn read(folder: &Path) -> Kept {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let ptx = files.filter(|path| path.extension().is_some_and(|extension| extension == "ptx"));
        Kept(ptx.filter_map(|path| std::fs::read_to_string(path).ok()).collect())
    }

    /// The text that is the same as an embedded one, apart from comments and white space.
    #[must_use]
    pub fn find(&self, embedded: &str) -> Option<&str> {
        self.0.iter().map(String::as_str).find(|text| words(text).eq(words(embedded)))
    }
}

/// The words of a text outside comments.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text.trim_end_matches('\0').lines().map(|line| {
        let mut quoted = false;
        let comment = line.char_indices().find(|(at, letter)| {
            quoted ^= *letter == '"';
            !quoted && line.get(*at..).is_some_and(|rest| rest.starts_with("//"))
        });
        comment.map_or(line, |(at, _)| line.get(..at).unwrap_or(line))
    });
    code.flat_map(str::split_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_white_space_do_not_count() {
        let kept = Kept(vec![
            ".file 1 \"/a//b.cu\"\n\t// begin inline asm\n\t// standstill.freed %rd1, 4;\n\tret;\n"
                .to_owned(),
        ]);
        for (embedded, found) in [
            (".file 1 \"/a//b.cu\"\n\n\nret;\n\0\0", true),
            (".file 1 \"/a//b.cu\" ret; ", true),
            (".file 1 \"/a/c.cu\"\nret;", false),
            (".file 1 \"/a//b.cu\"\nret; ret;", false),
        ] {
            assert_eq!(kept.find(embedded).is_some(), found, "{embedded}");
        }
    }
}

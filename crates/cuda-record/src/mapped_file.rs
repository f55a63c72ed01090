//! A file that grows at its end by writing to memory: what was written is there whatever becomes of the process.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::sync::atomic::{Ordering, fence};

/// Bytes that are mapped at once, first and later.
const FIRST: usize = 128 << 10;
const WINDOW: usize = 2 << 20;
/// Windows begin at multiples of this, which is a multiple of every page size in use.
const BORDER: usize = 64 << 10;
/// Bytes of a record's length.
const LENGTH: usize = 4;

/// A file whose end is mapped. Behind what was written it has zeros.
pub struct MappedFile {
    file: File,
    window: *mut u8,
    /// Bytes of the window; 0 before the first.
    size: usize,
    /// Where the window begins in the file.
    start: usize,
    /// Where the next byte goes, from the window's start.
    at: usize,
}

// SAFETY: the window belongs to this value alone.
unsafe impl Send for MappedFile {}

impl MappedFile {
    /// Begins at the start of a new file.
    pub fn new(file: File) -> MappedFile {
        MappedFile { file, window: std::ptr::null_mut(), size: 0, start: 0, at: 0 }
    }

    /// Adds a record that is put into its place, behind its length: `put` says where it ends, if it is one; gives that.
    ///
    /// # Errors
    /// When there is no room on the disk.
    #[inline(always)]
    pub fn put<const MOST: usize>(
        &mut self,
        put: impl FnOnce(&mut [u8; MOST]) -> Option<usize>,
    ) -> io::Result<bool> {
        if self.size.saturating_sub(self.at) < MOST {
            self.make_room(MOST)?;
        }
        // SAFETY: the window has room for so many bytes from `at` on, and nobody else writes to it.
        unsafe {
            let to = self.window.add(self.at);
            let Some(bytes) = put(&mut *to.cast()) else { return Ok(false) };
            let bytes = bytes.min(MOST);
            fence(Ordering::Release);
            to.cast::<u32>().write_unaligned(bytes.saturating_sub(LENGTH) as u32);
            self.at += bytes;
        }
        Ok(true)
    }

    /// Maps room for at least so many bytes.
    #[cold]
    fn make_room(&mut self, bytes: usize) -> io::Result<()> {
        let position = self.start + self.at;
        let start = position / BORDER * BORDER;
        let least = if position == 0 { FIRST } else { WINDOW };
        let size = (position - start + bytes).max(least).next_multiple_of(BORDER);
        self.unmap();
        let (fd, offset) = (self.file.as_raw_fd(), start as libc::off_t);
        // SAFETY: takes numbers only. The room is really there afterwards: a full disk is told here and not by a
        // signal.
        let error = unsafe { libc::posix_fallocate(fd, offset, size as libc::off_t) };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place that the system chooses.
        let window = unsafe { libc::mmap(std::ptr::null_mut(), size, access, libc::MAP_SHARED, fd, offset) };
        if window == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // All pages at once cost less than each at its first use; older systems do not know how.
        // SAFETY: the mapping was just made.
        unsafe { libc::madvise(window, size, libc::MADV_POPULATE_WRITE) };
        (self.window, self.size, self.start, self.at) = (window.cast(), size, start, position - start);
        Ok(())
    }

    fn unmap(&mut self) {
        if self.size > 0 {
            // SAFETY: the mapping that `make_room` made; nothing points into it.
            unsafe { libc::munmap(self.window.cast(), self.size) };
            self.size = 0;
        }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        self.unmap();
    }
}

impl Write for MappedFile {
    /// Takes all bytes or none. Their first four come last: a record without its length is not there yet.
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.size.saturating_sub(self.at) < bytes.len() {
            self.make_room(bytes.len())?;
        }
        let (first, rest) = bytes.split_at(bytes.len().min(LENGTH));
        // SAFETY: the window has room for all bytes from `at` on, and nobody else writes to it.
        unsafe {
            let to = self.window.add(self.at);
            std::ptr::copy_nonoverlapping(rest.as_ptr(), to.add(first.len()), rest.len());
            fence(Ordering::Release);
            match first.first_chunk() {
                Some(length) => to.cast::<u32>().write_unaligned(u32::from_ne_bytes(*length)),
                None => std::ptr::copy_nonoverlapping(first.as_ptr(), to, first.len()),
            }
        }
        self.at += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::options().create_new(true).read(true).write(true).open(&path).unwrap();
        let mut mapped = MappedFile::new(file);
        let mut expected = Vec::new();
        for number in 0..3000_u32 {
            let bytes: Vec<u8> = (0..number % 3000 + 1).map(|at| (at + number) as u8).collect();
            mapped.write_all(&bytes).unwrap();
            expected.extend(bytes);
        }
        let found = std::fs::read(&path).unwrap();
        assert!(found.len() > WINDOW && expected.len() > WINDOW);
        assert!(found[..expected.len()] == expected);
        assert!(found[expected.len()..].iter().all(|byte| *byte == 0));
    }
}

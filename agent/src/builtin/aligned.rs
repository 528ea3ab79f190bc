//! A buffer for O_DIRECT, which wants its memory aligned to the logical block of the disk (open(2), NOTES).

/// The largest logical block of any disk in use; alignment to it suits all smaller ones.
const ALIGNMENT: usize = 4096;

/// Bytes whose first address is a multiple of [`ALIGNMENT`]. Safe code only: a little more is allocated and the odd start is skipped.
#[derive(Debug)]
pub(super) struct Aligned {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    pub(super) fn new(length: usize) -> Self {
        let memory = vec![0; length + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Aligned { memory, start, length }
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_aligned() {
        for length in [1, 512, 65_536] {
            let mut buffer = Aligned::new(length);
            assert_eq!(buffer.bytes().as_ptr() as usize % ALIGNMENT, 0);
            assert_eq!(buffer.bytes().len(), length);
        }
    }
}

//! A frame of zeros around images, and samples innermost.

use crate::real::Real;

/// From images without a frame to framed ones, `[channel][row][column][sample]`, and back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) channels: usize,
    /// The side of the images without their frame.
    pub(crate) side: usize,
    /// Rows and columns of zeros on each of the four sides.
    pub(crate) margin: usize,
    /// Whether the images without a frame are `[sample][row][column][channel]`.
    pub(crate) samples_first: bool,
}

impl Frame {
    /// The side with the frame.
    pub(crate) fn framed_side(&self) -> usize {
        self.side + 2 * self.margin
    }

    /// Numbers of a framed batch.
    pub(crate) fn len(&self, batch: usize) -> usize {
        self.channels * self.framed_side() * self.framed_side() * batch
    }

    /// Puts images into their frames.
    pub(crate) fn put<T: Real>(&self, images: &[T], batch: usize, framed: &mut [T]) {
        if self.margin > 0 {
            framed.fill(T::ZERO);
        }
        for (line, place) in self.lines(batch) {
            let framed = &mut framed[place..][..self.side * batch];
            if self.samples_first {
                for (x, pixels) in framed.chunks_exact_mut(batch).enumerate() {
                    let samples = images[self.pixel(line, x)..].iter().step_by(self.sample_len());
                    pixels.iter_mut().zip(samples).for_each(|(to, &from)| *to = from);
                }
            } else {
                framed.copy_from_slice(&images[line * self.side * batch..][..self.side * batch]);
            }
        }
    }

    /// Takes images out of their frames.
    pub(crate) fn take<T: Real>(&self, framed: &[T], batch: usize, images: &mut [T]) {
        for (line, place) in self.lines(batch) {
            let framed = &framed[place..][..self.side * batch];
            if self.samples_first {
                for (x, pixels) in framed.chunks_exact(batch).enumerate() {
                    let samples = images[self.pixel(line, x)..].iter_mut().step_by(self.sample_len());
                    samples.zip(pixels).for_each(|(to, &from)| *to = from);
                }
            } else {
                images[line * self.side * batch..][..self.side * batch].copy_from_slice(framed);
            }
        }
    }

    /// Where a pixel of a line is in the first sample of images that have their channels last.
    #[inline(always)]
    fn pixel(&self, line: usize, x: usize) -> usize {
        let (channel, y) = (line / self.side, line % self.side);
        (y * self.side + x) * self.channels + channel
    }

    fn sample_len(&self) -> usize {
        self.channels * self.side * self.side
    }

    /// Lines of one sample, counted through all channels, and where each starts in the frames.
    fn lines(&self, batch: usize) -> impl Iterator<Item = (usize, usize)> {
        let Self { side, margin, .. } = *self;
        let framed = self.framed_side();
        (0..self.channels * side).map(move |line| {
            let (channel, y) = (line / side, line % side);
            (line, ((channel * framed + y + margin) * framed + margin) * batch)
        })
    }
}

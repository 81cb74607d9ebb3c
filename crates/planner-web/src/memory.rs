//! How a page hands over a question and gets the answer: two buffers in the memory of the module.
//!
//! The page calls [`fedflip_question`] with a length and writes that many bytes of UTF-8 at the address that it returns.
//! It calls [`fedflip_answer`], which returns the length of the answer, and reads the bytes at
//! [`fedflip_answer_address`]. Both buffers stay as they are until the next call. These three functions take the place of
//! a generator of bindings, whose program would have to be installed in the version of its library.

#![allow(
    unsafe_code,
    reason = "names that a page can call are `unsafe(no_mangle)`; nothing else here is unsafe"
)]

use std::cell::RefCell;

thread_local! {
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The address for a question of this many bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fedflip_question(bytes: usize) -> *mut u8 {
    QUESTION.with_borrow_mut(|question| {
        question.clear();
        question.resize(bytes, 0);
        question.as_mut_ptr()
    })
}

/// Answers the question; the number of bytes of the answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fedflip_answer() -> usize {
    let answer = QUESTION.with_borrow(|question| crate::answer(&String::from_utf8_lossy(question)));
    ANSWER.replace(answer.into_bytes());
    ANSWER.with_borrow(Vec::len)
}

/// The address of the answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fedflip_answer_address() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

//! What a program needs where there is no std and no libc: a start, an end, output, a heap, and the memory
//! functions that compiled code calls.
//!
//! For Linux on x86-64, whose system calls are made directly.

use core::alloc::{GlobalAlloc, Layout};
use core::arch::{asm, global_asm};
use core::cell::UnsafeCell;
use core::fmt;
use core::panic::PanicInfo;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering};

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("this program makes the system calls of Linux on x86-64");

// The kernel gives control here, with the arguments on the stack. A call expects the stack aligned to 16 bytes.
global_asm!(
    ".globl _start",
    "_start:",
    "xor ebp, ebp",
    "and rsp, -16",
    "call {start}",
    "ud2",
    start = sym start,
);

extern "C" fn start() -> ! {
    exit(crate::run())
}

/// Ends the program.
pub(crate) fn exit(code: u8) -> ! {
    // SAFETY: exit_group (231) takes an integer and does not return.
    unsafe { asm!("syscall", in("rax") 231, in("rdi") u64::from(code), options(noreturn)) }
}

/// The standard output, unbuffered.
pub(crate) struct Output;

impl fmt::Write for Output {
    fn write_str(&mut self, mut text: &str) -> fmt::Result {
        while !text.is_empty() {
            let written: isize;
            // SAFETY: write (1) reads `len` bytes from `ptr`, and the text has as many.
            unsafe {
                asm!(
                    "syscall",
                    inlateout("rax") 1isize => written,
                    in("rdi") 1,
                    in("rsi") text.as_ptr(),
                    in("rdx") text.len(),
                    lateout("rcx") _,
                    lateout("r11") _,
                    options(nostack),
                );
            }
            let written = usize::try_from(written).ok().filter(|written| *written > 0).ok_or(fmt::Error)?;
            // The kernel may take a part that ends within a character; what is left is then written as it is.
            text = text.get(written..).unwrap_or_default();
        }
        Ok(())
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let _ = fmt::Write::write_fmt(&mut Output, format_args!("{info}\n"));
    exit(101)
}

const HEAP_BYTES: usize = 64 << 20;

/// A heap that grows upwards and gives back only what was taken last.
struct Bump {
    memory: UnsafeCell<[u8; HEAP_BYTES]>,
    used: AtomicUsize,
}

// SAFETY: every byte of the memory is given out once at a time, and the counter that says which is atomic.
unsafe impl Sync for Bump {}

#[global_allocator]
static HEAP: Bump = Bump { memory: UnsafeCell::new([0; HEAP_BYTES]), used: AtomicUsize::new(0) };

/// Bytes of the heap that are in use or lost.
pub(crate) fn heap_used() -> usize {
    HEAP.used.load(Ordering::Relaxed)
}

// SAFETY: blocks lie within the memory, are aligned, and do not overlap, since `used` only falls when the last block is freed.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let base = self.memory.get() as usize;
        let mut block = 0;
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            block = (base + used).next_multiple_of(layout.align()) - base;
            block.checked_add(layout.size()).filter(|end| *end <= HEAP_BYTES)
        });
        match taken {
            // SAFETY: the block ends within the memory.
            Ok(_) => unsafe { self.memory.get().cast::<u8>().add(block) },
            Err(_) => null_mut(),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let offset = block as usize - self.memory.get() as usize;
        let end = offset + layout.size();
        let _ = self.used.compare_exchange(end, offset, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// The `alloc` crate that Rust ships was built for unwinding and names this function; nothing here unwinds.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// Named for the same reason, and as little called.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() -> ! {
    exit(102)
}

/// As libc's.
///
/// # Safety
/// Both blocks have `n` bytes and do not overlap.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    // SAFETY: as the caller promises. The direction flag is clear between functions.
    unsafe {
        asm!("rep movsb", inout("rcx") n => _, inout("rdi") to => _, inout("rsi") from => _, options(nostack, preserves_flags));
    }
    to
}

/// As libc's.
///
/// # Safety
/// Both blocks have `n` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    if (to as usize).wrapping_sub(from as usize) >= n {
        // SAFETY: `to` begins before `from` or after its end, so bytes are read before they are overwritten.
        return unsafe { memcpy(to, from, n) };
    }
    // SAFETY: as the caller promises; from the end, since `to` begins within `from`. The flag is cleared again.
    unsafe {
        asm!(
            "std",
            "rep movsb",
            "cld",
            inout("rcx") n => _,
            inout("rdi") to.wrapping_add(n).wrapping_sub(1) => _,
            inout("rsi") from.wrapping_add(n).wrapping_sub(1) => _,
            options(nostack),
        );
    }
    to
}

/// As libc's.
///
/// # Safety
/// The block has `n` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, n: usize) -> *mut u8 {
    // SAFETY: as the caller promises.
    unsafe {
        asm!("rep stosb", inout("rcx") n => _, inout("rdi") to => _, in("al") byte as u8, options(nostack, preserves_flags));
    }
    to
}

/// As libc's.
///
/// # Safety
/// Both blocks have `n` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    for i in 0..n {
        // SAFETY: as the caller promises.
        let (a, b) = unsafe { (*a.add(i), *b.add(i)) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

/// As libc's.
///
/// # Safety
/// Both blocks have `n` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    // SAFETY: as the caller promises.
    unsafe { memcmp(a, b, n) }
}

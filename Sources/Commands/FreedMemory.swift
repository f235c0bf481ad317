import CMalloc
import FoundationEssentials

/// How glibc handles freed memory.
enum FreedMemory {
    /// Keeps freed pages in the process and shares arenas among its threads. Call once, before any thread starts.
    ///
    /// Batches allocate and free megabytes many times a second. By default glibc returns these pages to the kernel, which clears them again
    /// for the next batch, and keeps a separate arena for each thread.
    static func keepForLater() {
        _ = mallopt(M_TRIM_THRESHOLD, 16 << 20)
        _ = mallopt(M_MMAP_THRESHOLD, 16 << 20)
        _ = mallopt(M_TOP_PAD, 1 << 20)
        _ = mallopt(M_ARENA_MAX, Int32(ProcessInfo.processInfo.activeProcessorCount))
    }
}

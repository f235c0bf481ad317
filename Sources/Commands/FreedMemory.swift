import CMalloc
import FoundationEssentials

/// What glibc does with memory that was freed.
enum FreedMemory {
    /// Batches take and free megabytes many times a second: without this each batch gives its pages back to the kernel, and the next has
    /// them cleared again. What one thread has freed the others use, too, as many as run at a time: glibc would have each keep its own. Once for a
    /// process, before its threads start.
    static func keepForLater() {
        _ = mallopt(M_TRIM_THRESHOLD, 16 << 20)
        _ = mallopt(M_MMAP_THRESHOLD, 16 << 20)
        _ = mallopt(M_TOP_PAD, 1 << 20)
        _ = mallopt(M_ARENA_MAX, Int32(ProcessInfo.processInfo.activeProcessorCount))
    }
}

import Synchronization

/// Decides for all connections of a process whether another request may be read.
package final class Admission: Sendable {
    private let clock = ContinuousClock()
    private let state: Mutex<AdmissionState>

    package init(memoryLimit: Int, hourlyLimit: Int) {
        state = Mutex(AdmissionState(memoryLimit: memoryLimit, hourlyLimit: hourlyLimit, now: clock.now))
    }

    /// Reserves memory for the body of a request, or says why it cannot be read now.
    package func admit(bytes: Int) -> Problem? {
        state.withLock { $0.admit(bytes: bytes, now: clock.now) }
    }

    /// Gives back what was reserved.
    package func release(bytes: Int) {
        guard bytes > 0 else { return }
        state.withLock { $0.release(bytes: bytes) }
    }

    /// Counts a body that is stored, and has yet to be verified.
    package func recordAccepted(bytes: Int) {
        state.withLock { $0.recordAccepted(bytes: bytes, now: clock.now) }
    }

    /// The bytes that are reserved for bodies now.
    package var bytesInMemory: Int { state.withLock(\.reserved) }

    /// True when the process takes nothing new.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Admits nothing from now on.
    package func close() {
        state.withLock { $0.close() }
    }
}

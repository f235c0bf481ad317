import Synchronization

/// Decides for all connections of a listener whether a request, or more of its body, may be read.
package final class Admission: Sendable {
    private let clock = ContinuousClock()
    private let state: Mutex<AdmissionState>
    private let shutdown = Atomic(false)

    /// - Parameter hourlyLimit: the most bytes stored within any hour.
    package convenience init(_ limits: ListenerLimits, hourlyLimit: Int = .max) {
        self.init(
            memoryLimit: limits.maximumBytesInMemory,
            largestBody: limits.largestBodyBytes,
            connections: limits.maximumConnections,
            hourlyLimit: hourlyLimit
        )
    }

    /// - Parameters:
    ///   - memoryLimit: the most bytes of bodies in memory.
    ///   - largestBody: the most bytes of any body.
    ///   - connections: the most connections, each of which has a share of the memory.
    package init(memoryLimit: Int, largestBody: Int = 0, connections: Int = 1, hourlyLimit: Int) {
        state = Mutex(
            AdmissionState(
                memoryLimit: memoryLimit,
                largestBody: largestBody,
                connections: connections,
                hourlyLimit: hourlyLimit,
                now: clock.now
            )
        )
    }

    /// Admits the head of a request, or returns why the request is refused.
    func admit(_ body: BodyReservation) -> Problem? {
        state.withLock { $0.admit(body, now: clock.now) }
    }

    /// Reserves memory for the received part of a body, or returns why the request is refused.
    func grow(_ body: inout BodyReservation, toHold arrived: Int) -> Problem? {
        guard arrived > body.bytes else { return nil }
        return state.withLock { $0.grow(&body, toHold: arrived, now: clock.now) }
    }

    /// Releases a reservation; idempotent.
    func release(_ body: inout BodyReservation) {
        guard body.bytes > 0 else { return }
        state.withLock { $0.release(&body) }
    }

    /// Counts a stored, unverified body toward the hourly limit.
    package func recordAccepted(bytes: Int) {
        state.withLock { $0.recordAccepted(bytes: bytes, now: clock.now) }
    }

    /// The bytes reserved for bodies.
    package var bytesInMemory: Int { state.withLock(\.reserved) }

    /// Whether the listener shuts down.
    package var isShuttingDown: Bool { shutdown.load(ordering: .relaxed) }

    /// Records that the listener shuts down. Requests that its connections still send are admitted.
    package func beginShutdown() {
        shutdown.store(true, ordering: .relaxed)
    }
}

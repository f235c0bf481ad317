import Synchronization

/// Decides for all connections of a listener whether another request, or more of one, may be read.
package final class Admission: Sendable {
    private let clock = ContinuousClock()
    private let state: Mutex<AdmissionState>

    /// - Parameter hourlyLimit: the most bytes that are stored within any hour.
    package convenience init(_ limits: ListenerLimits, hourlyLimit: Int = .max) {
        self.init(memoryLimit: limits.maximumBytesInMemory, largestBody: limits.largestBodyBytes, hourlyLimit: hourlyLimit)
    }

    /// - Parameter largestBody: the most bytes of any body, which bodies of more than usual size may have together even if it is more than
    ///   half of the memory.
    package init(memoryLimit: Int, largestBody: Int = 0, hourlyLimit: Int) {
        state = Mutex(AdmissionState(memoryLimit: memoryLimit, largestBody: largestBody, hourlyLimit: hourlyLimit, now: clock.now))
    }

    /// Reserves what the head of a request takes, or says why the request cannot be read now.
    func admit(_ reservation: inout BodyReservation) -> Problem? {
        state.withLock { $0.admit(&reservation, now: clock.now) }
    }

    /// Reserves what a body takes of which that much has come, or says why no more of it can be read now.
    func grow(_ reservation: inout BodyReservation, toHold arrived: Int) -> Problem? {
        guard arrived > reservation.bytes else { return nil }
        return state.withLock { $0.grow(&reservation, toHold: arrived, now: clock.now) }
    }

    /// Gives back what was reserved; the second time there is nothing left.
    func release(_ reservation: inout BodyReservation) {
        guard reservation.bytes > 0 else { return }
        state.withLock { $0.release(&reservation) }
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

/// Counts the bytes of requests in memory, and the unverified bytes stored in the database.
///
/// - Bodies of usual size may fill the memory.
/// - Large bodies share at most half of it, or the size of the largest body if that is more. Slow large bodies therefore block no usual ones.
/// - A request that gets no memory is refused at once and releases its own. At least one of many concurrent large bodies is received.
struct AdmissionState {
    typealias Instant = ContinuousClock.Instant

    private let memoryLimit: Int
    private let largeLimit: Int
    private let hourlyLimit: Int
    private(set) var reserved = 0
    private(set) var reservedByLarge = 0
    private var accepted: RollingTotal
    private(set) var isClosed = false

    /// - Parameter largestBody: the most bytes of any body.
    init(memoryLimit: Int, largestBody: Int, hourlyLimit: Int, now: Instant) {
        self.memoryLimit = memoryLimit
        largeLimit = max(memoryLimit / 2, largestBody)
        self.hourlyLimit = hourlyLimit
        accepted = RollingTotal(overMinutes: 60, start: now)
    }

    /// Reserves memory for the head of a request, or returns why the request is refused.
    mutating func admit(_ reservation: inout MemoryReservation, now: Instant) -> Problem? {
        if isClosed { return .shuttingDown }
        guard reservation.isAnnounced, reservation.maximumBytes > 0 else { return nil }
        return reserve(reservation.bytesAtHead, for: &reservation, of: reservation.maximumBytes, now: now)
    }

    /// Reserves memory for the received part of a body, or returns why the request is refused. An admitted request may still grow after
    /// `close()`.
    mutating func grow(_ reservation: inout MemoryReservation, toHold arrived: Int, now: Instant) -> Problem? {
        reserve(reservation.bytes(for: arrived), for: &reservation, of: arrived, now: now)
    }

    /// - Parameters:
    ///   - bytes: the total to reserve.
    ///   - length: the known length of the body.
    private mutating func reserve(_ bytes: Int, for reservation: inout MemoryReservation, of length: Int, now: Instant) -> Problem? {
        let more = bytes - reservation.bytes
        guard reserved + more <= memoryLimit else { return .tooManyBytes }
        guard !reservation.isLarge || reservedByLarge + more <= largeLimit else { return .tooManyBytes }
        guard accepted.total(at: now) + length <= hourlyLimit else { return .hourlyLimit }
        add(more, to: &reservation)
        return nil
    }

    /// Releases a reservation; idempotent.
    mutating func release(_ reservation: inout MemoryReservation) {
        add(-reservation.bytes, to: &reservation)
    }

    private mutating func add(_ bytes: Int, to reservation: inout MemoryReservation) {
        reservation.bytes += bytes
        reserved += bytes
        if reservation.isLarge { reservedByLarge += bytes }
    }

    /// Counts a stored, unverified body toward the hourly limit.
    mutating func recordAccepted(bytes: Int, now: Instant) {
        accepted.add(bytes, at: now)
    }

    /// Refuses all new requests from now on.
    mutating func close() {
        isClosed = true
    }
}

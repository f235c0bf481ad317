/// Counts the bytes of requests in memory, and the unverified bytes stored in the database.
///
/// - Half of the memory is divided among the connections. A connection may always hold its share, whatever the others hold: slow senders
///   take no memory from a body of usual size.
/// - All connections share the rest for what exceeds their shares. The rest has room for the largest body.
/// - A request that gets no memory is refused at once and releases its own. At least one of many concurrent large bodies is received.
///
/// The share belongs to a connection and not to a client's address: behind a proxy all connections have one address.
struct AdmissionState {
    typealias Instant = ContinuousClock.Instant

    private let memoryLimit: Int
    /// The most bytes above the shares of all connections together.
    private let commonLimit: Int
    /// The bytes that each connection may always hold.
    let share: Int
    private let hourlyLimit: Int
    private(set) var reserved = 0
    /// The bytes of all connections that exceed their shares.
    private(set) var reservedAboveShares = 0
    private var accepted: RollingTotal

    /// - Parameters:
    ///   - largestBody: the most bytes of any body.
    ///   - connections: the most connections.
    init(memoryLimit: Int, largestBody: Int, connections: Int, hourlyLimit: Int, now: Instant) {
        self.memoryLimit = memoryLimit
        commonLimit = max(memoryLimit / 2, largestBody)
        share = max(0, memoryLimit - commonLimit) / connections
        self.hourlyLimit = hourlyLimit
        accepted = RollingTotal(overMinutes: 60, start: now)
    }

    /// Admits the head of a request, or returns why the request is refused.
    mutating func admit(_ body: BodyReservation, now: Instant) -> Problem? {
        guard body.announcedBytes > 0, accepted.total(at: now) + body.announcedBytes > hourlyLimit else { return nil }
        return .hourlyLimit
    }

    /// Reserves memory for the received part of a body, or returns why the request is refused.
    mutating func grow(_ body: inout BodyReservation, toHold arrived: Int, now: Instant) -> Problem? {
        let bytes = body.bytes(toHold: arrived)
        let moreAboveShare = aboveShare(bytes) - aboveShare(body.bytes)
        guard reserved + bytes - body.bytes <= memoryLimit, reservedAboveShares + moreAboveShare <= commonLimit else {
            return .tooManyBytes
        }
        guard accepted.total(at: now) + arrived <= hourlyLimit else { return .hourlyLimit }
        reserve(bytes, for: &body)
        return nil
    }

    /// Releases a reservation; idempotent.
    mutating func release(_ body: inout BodyReservation) {
        reserve(0, for: &body)
    }

    private mutating func reserve(_ bytes: Int, for body: inout BodyReservation) {
        reserved += bytes - body.bytes
        reservedAboveShares += aboveShare(bytes) - aboveShare(body.bytes)
        body.bytes = bytes
    }

    private func aboveShare(_ bytes: Int) -> Int { max(0, bytes - share) }

    /// Counts a stored, unverified body toward the hourly limit.
    mutating func recordAccepted(bytes: Int, now: Instant) {
        accepted.add(bytes, at: now)
    }
}

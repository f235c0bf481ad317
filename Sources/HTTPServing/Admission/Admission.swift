import NIOHTTP1
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

/// A sum over a sliding time window, kept in sixty buckets.
struct RollingTotal {
    private static let bucketCount = 60

    private let bucketSeconds: Int64
    private let start: ContinuousClock.Instant
    private var buckets = [Int](repeating: 0, count: bucketCount)
    private var current = 0
    private var sum = 0

    /// Starts an empty sum over a window of whole minutes.
    init(overMinutes minutes: Int64, start: ContinuousClock.Instant) {
        bucketSeconds = minutes
        self.start = start
    }

    /// The sum at an instant. Instants must not decrease between calls.
    mutating func total(at now: ContinuousClock.Instant) -> Int {
        let latest = Int((now - start).components.seconds / bucketSeconds)
        let passed = min(latest - current, Self.bucketCount)
        guard passed > 0 else { return sum }
        for index in latest - passed + 1...latest {
            sum -= buckets[index % Self.bucketCount]
            buckets[index % Self.bucketCount] = 0
        }
        current = latest
        return sum
    }

    /// Adds an amount at an instant.
    mutating func add(_ amount: Int, at now: ContinuousClock.Instant) {
        _ = total(at: now)
        buckets[current % Self.bucketCount] += amount
        sum += amount
    }
}

/// What the head of a request states about its body, and the memory reserved for that body.
///
/// Memory is reserved as the bytes arrive, so that a head alone costs none.
struct BodyReservation: Equatable {
    /// The first step of a reservation. Each later step doubles, as the buffer of the body does.
    static let firstStep = 64 * 1024

    /// The most bytes that the body can have: Content-Length, or the limit when the body is chunked.
    let maximumBytes: Int
    /// Content-Length; zero when the body is chunked.
    let announcedBytes: Int
    /// True when the client waits for 100 (Continue) before it sends the body.
    let awaitsContinue: Bool
    /// The bytes reserved so far.
    var bytes = 0

    /// The reservation of a request without a body.
    static let none = BodyReservation(maximumBytes: 0, announcedBytes: 0, awaitsContinue: false)

    /// The total to reserve when `arrived` bytes of the body have arrived.
    func bytes(toHold arrived: Int) -> Int {
        guard arrived > bytes else { return bytes }
        var step = Self.firstStep
        while step < arrived { step *= 2 }
        return min(step, maximumBytes)
    }
}

extension BodyReservation {
    /// Reads the fields of a head that frame the body.
    ///
    /// - Parameter limit: the most bytes in a body of this path.
    /// - Throws: the answer to a request that is refused at its head.
    init(_ head: HTTPRequestHead, limit: Int) throws(Problem) {
        guard head.version == .http1_0 || head.headers["host"].count == 1 else { throw .malformedRequest }
        let announced = try Self.announcedBytes(head, limit: limit)
        let maximum = announced ?? limit
        self.init(
            maximumBytes: maximum,
            announcedBytes: announced ?? 0,
            awaitsContinue: try Self.awaitsContinue(head) && maximum > 0
        )
    }

    /// The length that a head announces, zero for a request without a body; nil for a chunked body.
    private static func announcedBytes(_ head: HTTPRequestHead, limit: Int) throws(Problem) -> Int? {
        if let coding = head.headers.first(name: "transfer-encoding") {
            guard head.version != .http1_0 else { throw .malformedRequest }
            guard coding.lowercased() == "chunked" else { throw .transferCodingUnknown }
            return nil
        }
        guard let announced = head.headers.first(name: "content-length") else {
            guard [.GET, .HEAD, .DELETE, .OPTIONS, .TRACE, .CONNECT].contains(head.method) else { throw .lengthRequired }
            return 0
        }
        guard let length = Int(announced), length >= 0 else { throw .malformedRequest }
        guard length <= limit else { throw .contentTooLarge(limit: limit) }
        return length
    }

    private static func awaitsContinue(_ head: HTTPRequestHead) throws(Problem) -> Bool {
        // HTTP/1.0 clients do not understand interim answers (RFC 9110, section 10.1.1).
        guard let expected = head.headers.first(name: "expect"), head.version != .http1_0 else { return false }
        guard expected.lowercased() == "100-continue" else { throw .expectationFailed }
        return true
    }
}

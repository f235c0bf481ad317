/// How many bytes of requests are in memory, and how many unverified bytes went to the database.
struct AdmissionState {
    typealias Instant = ContinuousClock.Instant

    private let memoryLimit: Int
    private let hourlyLimit: Int
    private(set) var reserved = 0
    private var accepted: RollingTotal
    private(set) var isClosed = false

    init(memoryLimit: Int, hourlyLimit: Int, now: Instant) {
        self.memoryLimit = memoryLimit
        self.hourlyLimit = hourlyLimit
        accepted = RollingTotal(overMinutes: 60, start: now)
    }

    /// Reserves memory for the body of a request, or says why it cannot be read now.
    mutating func admit(bytes: Int, now: Instant) -> Problem? {
        if isClosed { return .shuttingDown }
        guard bytes > 0 else { return nil }
        guard reserved + bytes <= memoryLimit else { return .tooManyBytes }
        guard accepted.total(at: now) + bytes <= hourlyLimit else { return .hourlyLimit }
        reserved += bytes
        return nil
    }

    /// Gives back what was reserved.
    mutating func release(bytes: Int) {
        reserved -= bytes
    }

    /// Counts a body that is stored, and has yet to be verified.
    mutating func recordAccepted(bytes: Int, now: Instant) {
        accepted.add(bytes, at: now)
    }

    /// Admits nothing from now on.
    mutating func close() {
        isClosed = true
    }
}

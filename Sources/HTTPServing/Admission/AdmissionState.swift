/// How many bytes of requests are in memory, and how many unverified bytes went to the database.
///
/// Bodies of usual size may fill the memory. Those that may become larger have at most half of it together, or as much as the largest of
/// them needs: however many there are and however slowly they come, the rest is left for usual ones. Nobody waits for memory. Who gets no
/// more is refused and gives back what it had, so that of any number of large bodies one at least can be received.
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

    /// Reserves what a head takes, or says why the request cannot be read now.
    mutating func admit(_ reservation: inout BodyReservation, now: Instant) -> Problem? {
        if isClosed { return .shuttingDown }
        guard reservation.isAnnounced, reservation.maximumBytes > 0 else { return nil }
        return reserve(reservation.bytesAtHead, for: &reservation, of: reservation.maximumBytes, now: now)
    }

    /// Reserves what a body takes of which that much has come, or says why no more of it can be read now. What has been let in may come to
    /// its end after the process was closed.
    mutating func grow(_ reservation: inout BodyReservation, toHold arrived: Int, now: Instant) -> Problem? {
        reserve(reservation.bytes(for: arrived), for: &reservation, of: arrived, now: now)
    }

    /// - Parameters:
    ///   - bytes: how many shall be reserved in all.
    ///   - length: of the body, as far as it is known.
    private mutating func reserve(_ bytes: Int, for reservation: inout BodyReservation, of length: Int, now: Instant) -> Problem? {
        let more = bytes - reservation.bytes
        guard reserved + more <= memoryLimit else { return .tooManyBytes }
        guard !reservation.isLarge || reservedByLarge + more <= largeLimit else { return .tooManyBytes }
        guard accepted.total(at: now) + length <= hourlyLimit else { return .hourlyLimit }
        add(more, to: &reservation)
        return nil
    }

    /// Gives back what was reserved; the second time there is nothing left.
    mutating func release(_ reservation: inout BodyReservation) {
        add(-reservation.bytes, to: &reservation)
    }

    private mutating func add(_ bytes: Int, to reservation: inout BodyReservation) {
        reservation.bytes += bytes
        reserved += bytes
        if reservation.isLarge { reservedByLarge += bytes }
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

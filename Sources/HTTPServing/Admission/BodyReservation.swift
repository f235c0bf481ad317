/// The memory that the body of one request has, and how it grows.
///
/// A body of usual size whose length is announced has all its memory from the start. Any other one has none: it is reserved as bytes come,
/// so that a head which promises much costs nothing.
struct BodyReservation: Equatable {
    /// What the first byte of a body that grows reserves; from then on it is doubled, as is the buffer that the body is kept in.
    static let firstStep = 64 * 1024

    /// The most bytes that can come.
    let maximumBytes: Int
    /// Whether it may become larger than a body usually is.
    let isLarge: Bool
    /// Whether the head has said how many bytes come.
    let isAnnounced: Bool
    /// The bytes that are reserved.
    var bytes = 0

    /// Of no body at all.
    static let none = BodyReservation(maximumBytes: 0, isLarge: false, isAnnounced: true)

    /// What the head alone reserves.
    var bytesAtHead: Int { isAnnounced && !isLarge ? maximumBytes : 0 }

    /// What must be reserved when that much has come.
    func bytes(for arrived: Int) -> Int {
        guard arrived > bytes else { return bytes }
        var step = Self.firstStep
        while step < arrived { step *= 2 }
        return min(step, maximumBytes)
    }
}

extension BodyReservation {
    /// - Parameter usualBytes: the most bytes of a body under a path without a limit of its own.
    init(_ expectation: BodyExpectation, usualBytes: Int) {
        self.init(
            maximumBytes: expectation.maximumBytes,
            isLarge: expectation.maximumBytes > usualBytes,
            isAnnounced: expectation.isAnnounced
        )
    }
}

/// The memory reserved for the body of one request.
///
/// A body of usual size with a Content-Length is reserved in full at the head. Any other body is reserved as its bytes arrive, so that a
/// large Content-Length alone costs no memory.
struct MemoryReservation: Equatable {
    /// The first step of a growing reservation. Each later step doubles, as the buffer of the body does.
    static let firstStep = 64 * 1024

    /// The most bytes that the body can have.
    let maximumBytes: Int
    /// Whether the body may exceed the usual limit.
    let isLarge: Bool
    /// Whether the head states the length of the body.
    let isAnnounced: Bool
    /// The bytes reserved so far.
    var bytes = 0

    /// The reservation of a request without a body.
    static let none = MemoryReservation(maximumBytes: 0, isLarge: false, isAnnounced: true)

    /// The bytes to reserve at the head.
    var bytesAtHead: Int { isAnnounced && !isLarge ? maximumBytes : 0 }

    /// The bytes to reserve when `arrived` bytes of the body have arrived.
    func bytes(for arrived: Int) -> Int {
        guard arrived > bytes else { return bytes }
        var step = Self.firstStep
        while step < arrived { step *= 2 }
        return min(step, maximumBytes)
    }
}

extension MemoryReservation {
    /// - Parameter usualBytes: the body limit of paths without their own limit.
    init(_ framing: BodyFraming, usualBytes: Int) {
        self.init(
            maximumBytes: framing.maximumBytes,
            isLarge: framing.maximumBytes > usualBytes,
            isAnnounced: framing.isAnnounced
        )
    }
}

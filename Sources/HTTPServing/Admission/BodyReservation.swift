import NIOHTTP1

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

import NIOHTTP1

/// What a request head states about its body.
struct BodyFraming: Equatable {
    /// The most bytes that the body can have: Content-Length, or the limit when the body is chunked.
    let maximumBytes: Int
    /// True when the head states the length of the body, including zero.
    let isAnnounced: Bool
    /// True when the client waits for a 100 (Continue) before it sends the body.
    let awaitsContinue: Bool

    /// Reads the fields of a head that frame the body.
    ///
    /// - Throws: the answer to a request that is refused at its head.
    init(_ head: HTTPRequestHead, limit: Int) throws(Problem) {
        let headers = head.headers
        guard head.version == .http1_0 || headers["host"].count == 1 else { throw .malformedRequest }
        maximumBytes = try Self.length(head, limit: limit)
        isAnnounced = !head.headers.contains(name: "transfer-encoding")
        awaitsContinue = try Self.awaitsContinue(head) && maximumBytes > 0
    }

    private static func length(_ head: HTTPRequestHead, limit: Int) throws(Problem) -> Int {
        if let coding = head.headers.first(name: "transfer-encoding") {
            guard head.version != .http1_0 else { throw .malformedRequest }
            guard coding.lowercased() == "chunked" else { throw .transferCodingUnknown }
            return limit
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

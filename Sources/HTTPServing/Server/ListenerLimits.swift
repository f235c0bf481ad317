import NIOCore

/// What the clients of one listener may take.
package struct ListenerLimits: Sendable {
    /// The most bytes in a body, but under the paths that have a limit of their own.
    package var maximumBodyBytes = 256 * 1024
    /// The most bytes in a body by path, as the request line has it.
    package var bodyBytesByPath: [String: Int] = [:]
    /// The most bytes in a request line and header fields together.
    package var maximumHeadBytes = 16 * 1024
    /// The most bytes of requests that are in memory at once. Of those under paths with a larger limit of their own it is half, or one of
    /// the largest, so that however slowly they come there is room for the others.
    package var maximumBytesInMemory = 64 * 1024 * 1024
    /// The most connections; more wait until one closes.
    package var maximumConnections = 512
    /// The longest that a client may take to send a request.
    package var requestDeadline: Duration = .seconds(10)
    /// The longest silence between two requests of a connection.
    package var idleTimeout: Duration = .seconds(60)
    /// The longest that an answer may take, waiting for the database included.
    package var answerTimeout: Duration = .seconds(30)
    /// The longest that requests may still take when the server shuts down.
    package var shutdownGrace: Duration = .seconds(10)

    package init() {}

    /// What the limit of a body may be: the inbox takes no larger ones.
    package static let bodyBytes = 1024...4 * 1024 * 1024

    /// Checks that the limits make sense together.
    ///
    /// - Throws: `ServerError` that names the first limit that does not.
    package func validate() throws(ServerError) {
        try Self.check("maximumBodyBytes", maximumBodyBytes, in: Self.bodyBytes)
        for (path, limit) in bodyBytesByPath.sorted(by: { $0.key < $1.key }) { try Self.check(path, limit, in: Self.bodyBytes) }
        try Self.check("maximumHeadBytes", maximumHeadBytes, in: 1024...1024 * 1024)
        try Self.check("maximumBytesInMemory", maximumBytesInMemory, in: largestBodyBytes...Int.max)
        try Self.check("maximumConnections", maximumConnections, in: 1...65536)
        try Self.check("requestDeadline", requestDeadline)
        try Self.check("idleTimeout", idleTimeout)
        try Self.check("answerTimeout", answerTimeout)
        try Self.check("shutdownGrace", shutdownGrace)
    }

    /// Checks that a limit is in its range.
    package static func check(_ name: String, _ value: Int, in range: ClosedRange<Int>) throws(ServerError) {
        guard !range.contains(value) else { return }
        let allowed = range.upperBound == .max ? "at least \(range.lowerBound)" : "between \(range.lowerBound) and \(range.upperBound)"
        throw .invalidLimit(name, "\(value) is not \(allowed)")
    }

    /// Checks that a time limit makes sense.
    package static func check(_ name: String, _ duration: Duration) throws(ServerError) {
        guard duration < .milliseconds(10) || duration > .seconds(3600) else { return }
        throw .invalidLimit(name, "\(duration) is not between 0.01 seconds and an hour")
    }

    /// The most bytes in any body.
    package var largestBodyBytes: Int { bodyBytesByPath.values.reduce(maximumBodyBytes, max) }

    /// The limits of one connection.
    var ofOneConnection: ConnectionLimits {
        var limits = ConnectionLimits()
        limits.requestDeadline = TimeAmount(requestDeadline)
        limits.idleTimeout = TimeAmount(idleTimeout)
        limits.answerTimeout = TimeAmount(answerTimeout)
        limits.shutdownGrace = TimeAmount(shutdownGrace)
        limits.maximumBodyBytes = maximumBodyBytes
        limits.bodyBytesByPath = bodyBytesByPath
        limits.maximumHeadBytes = maximumHeadBytes
        return limits
    }
}

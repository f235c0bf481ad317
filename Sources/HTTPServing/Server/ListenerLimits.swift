import NIOCore

/// The limits of one listener.
package struct ListenerLimits: Sendable {
    /// The most bytes in a body, except under the paths in `bodyBytesByPath`.
    package var maximumBodyBytes = 256 * 1024
    /// The most bytes in a body, by the path as written in the request line.
    package var bodyBytesByPath: [String: Int] = [:]
    /// The most bytes in a request line and header fields together.
    package var maximumHeadBytes = 16 * 1024
    /// The most bytes of requests in memory at once. Large bodies may use half of it, or the size of the largest body if that is more. The
    /// rest is reserved for bodies of usual size.
    package var maximumBytesInMemory = 64 * 1024 * 1024
    /// The most connections. Further clients wait until one closes.
    package var maximumConnections = 512
    /// The timeout for receiving a request.
    package var requestDeadline: Duration = .seconds(10)
    /// The idle timeout between two requests of a connection.
    package var idleTimeout: Duration = .seconds(60)
    /// The timeout for an answer, including the wait for the database.
    package var answerTimeout: Duration = .seconds(30)
    /// The time that requests still have after shutdown begins.
    package var shutdownGrace: Duration = .seconds(10)

    package init() {}

    /// The valid range of a body limit. The inbox stores no larger bodies.
    package static let bodyBytes = 1024...4 * 1024 * 1024

    /// Checks the limits and their combination.
    ///
    /// - Throws: `ServerError` that names the first invalid limit.
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

    /// Checks the range of a limit.
    package static func check(_ name: String, _ value: Int, in range: ClosedRange<Int>) throws(ServerError) {
        guard !range.contains(value) else { return }
        let allowed = range.upperBound == .max ? "at least \(range.lowerBound)" : "between \(range.lowerBound) and \(range.upperBound)"
        throw .invalidLimit(name, "\(value) is not \(allowed)")
    }

    /// Checks the range of a timeout.
    package static func check(_ name: String, _ duration: Duration) throws(ServerError) {
        guard duration < .milliseconds(10) || duration > .seconds(3600) else { return }
        throw .invalidLimit(name, "\(duration) is not between 0.01 seconds and an hour")
    }

    /// The largest body limit of all paths.
    package var largestBodyBytes: Int { bodyBytesByPath.values.reduce(maximumBodyBytes, max) }

    /// The limits of one connection.
    var connectionLimits: ConnectionLimits {
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

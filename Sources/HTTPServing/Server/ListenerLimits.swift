/// The limits of one listener.
package struct ListenerLimits: Sendable {
    /// The most bytes in a body, except under the paths in `bodyBytesByPath`.
    package var maximumBodyBytes = 256 * 1024
    /// The most bytes in a body, by path.
    package var bodyBytesByPath: [String: Int] = [:]
    /// The most bytes in a request line and header fields together.
    package var maximumHeadBytes = 16 * 1024
    /// The most header fields.
    package var maximumHeadFields = 64
    /// The most bytes of bodies in memory at once. Half of it is divided among the connections; see ``AdmissionState``.
    package var maximumBytesInMemory = 64 * 1024 * 1024
    /// The most connections. Further clients wait until one closes.
    package var maximumConnections = 512
    /// The timeout from the first byte of a request to its last, and from the start of a connection to the first byte.
    package var requestDeadline: Duration = .seconds(10)
    /// The idle timeout between two requests of a connection.
    package var idleTimeout: Duration = .seconds(60)
    /// The timeout from the last byte of a request until the client has taken the answer.
    package var answerTimeout: Duration = .seconds(30)
    /// How long an endpoint may wait for something to answer, before `answerTimeout` counts.
    package var longestWait: Duration = .zero
    /// How long input is discarded after the last answer, so that the client can read that answer.
    package var lingerTimeout: Duration = .seconds(2)
    /// How long a connection without a request stays open after shutdown begins: a request may be on its way.
    package var shutdownIdleTimeout: Duration = .seconds(1)
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

    /// The most bytes in the body of a request for a path.
    func maximumBodyBytes(for path: String) -> Int { bodyBytesByPath[path] ?? maximumBodyBytes }
}

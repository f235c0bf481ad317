import NIOCore

extension IngestServer {
    /// Where an ingest server listens, and its limits.
    package struct Configuration: Sendable {
        /// Where Apple's notifications arrive.
        package var listen = ListenAddress.tcp(host: "127.0.0.1", port: 8080)
        /// Where the health of the process can be asked for, even when the first listener is full.
        package var adminListen = ListenAddress.tcp(host: "127.0.0.1", port: 9090)
        /// The most bytes in a notification.
        package var maximumBodyBytes = 256 * 1024
        /// The most bytes in a request line and header fields together.
        package var maximumHeadBytes = 16 * 1024
        /// The most bytes of requests that are in memory at once.
        package var maximumBytesInMemory = 64 * 1024 * 1024
        /// The most bytes that are stored, and so not yet verified, within any hour.
        package var maximumBytesPerHour = 4 * 1024 * 1024 * 1024
        /// The most connections of the first listener; more wait until one closes.
        package var maximumConnections = 512
        /// The longest that a client may take to send a request.
        package var requestDeadline: Duration = .seconds(10)
        /// The longest silence between two requests of a connection.
        package var idleTimeout: Duration = .seconds(60)
        /// The longest that an answer may take, waiting for the commit included.
        package var answerTimeout: Duration = .seconds(30)
        /// The longest that requests may still take when the server shuts down.
        package var shutdownGrace: Duration = .seconds(10)
        /// How often the heartbeat is given while all is well.
        package var heartbeatInterval: Duration = .seconds(5)

        package init() {}

        /// Checks that the limits make sense together.
        ///
        /// - Throws: `IngestError` that names the first limit that does not.
        package func validate() throws(IngestError) {
            try Self.check("maximumBodyBytes", maximumBodyBytes, in: 1024...4 * 1024 * 1024)
            try Self.check("maximumHeadBytes", maximumHeadBytes, in: 1024...1024 * 1024)
            try Self.check("maximumBytesInMemory", maximumBytesInMemory, in: maximumBodyBytes...Int.max)
            try Self.check("maximumBytesPerHour", maximumBytesPerHour, in: maximumBodyBytes...Int.max)
            try Self.check("maximumConnections", maximumConnections, in: 1...65536)
            for (name, duration) in durations {
                guard duration >= .milliseconds(10), duration <= .seconds(3600) else {
                    throw .invalidLimit(name, "\(duration) is not between 0.01 seconds and an hour")
                }
            }
            guard listen != adminListen || listen.isAnyPort else {
                throw .invalidLimit("adminListen", "\(adminListen) is the first listener's address too")
            }
        }

        private var durations: [(name: String, duration: Duration)] {
            [
                ("requestDeadline", requestDeadline), ("idleTimeout", idleTimeout), ("answerTimeout", answerTimeout),
                ("shutdownGrace", shutdownGrace), ("heartbeatInterval", heartbeatInterval),
            ]
        }

        private static func check(_ name: String, _ value: Int, in range: ClosedRange<Int>) throws(IngestError) {
            guard !range.contains(value) else { return }
            let allowed = range.upperBound == .max ? "at least \(range.lowerBound)" : "between \(range.lowerBound) and \(range.upperBound)"
            throw .invalidLimit(name, "\(value) is not \(allowed)")
        }

        /// The limits of one connection.
        var connectionLimits: ConnectionLimits {
            var limits = ConnectionLimits()
            limits.requestDeadline = TimeAmount(requestDeadline)
            limits.idleTimeout = TimeAmount(idleTimeout)
            limits.answerTimeout = TimeAmount(answerTimeout)
            limits.shutdownGrace = TimeAmount(shutdownGrace)
            limits.maximumBodyBytes = maximumBodyBytes
            limits.maximumHeadBytes = maximumHeadBytes
            return limits
        }
    }
}

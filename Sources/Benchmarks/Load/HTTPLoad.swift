import PrivateCluster

/// Posts to a server on this machine over connections that are kept, from one thread of its own; lean, for it shares the processors with
/// what is measured.
struct HTTPLoad: Sendable {
    /// When requests are sent.
    enum Pace: Sendable {
        /// Each connection sends the next one as soon as the last one is answered, for so many seconds.
        case asFastAsAnswered(seconds: Double)
        /// So many a second at even intervals, whether or not earlier ones are answered, until so many were sent.
        case steady(perSecond: Double, count: Int)
    }

    /// What has happened. All requests were answered with 200, or ``HTTPLoad/run()`` would have thrown.
    struct Outcome: Sendable {
        /// From when each request was due to its whole answer, in milliseconds. A request that had to wait for a connection was due
        /// before it was sent.
        var latencies: [Double] = []
        /// When each request was due, by ``SteadyClock``, in the order of the bodies.
        var dueTimes: [Double] = []
        /// From the first request to the last answer.
        var seconds = 0.0
        /// Of this process, in which nothing else happens but that.
        var processorTime = Duration.zero

        var rate: Double { seconds > 0 ? Double(latencies.count) / seconds : 0 }
    }

    let port: Int
    let connections: Int
    /// Sent in turn, again and again.
    let bodies: [[UInt8]]
    let pace: Pace
    /// How many seconds may pass without any answer.
    var patience = 30.0

    func run() async throws -> Outcome {
        let requests = bodies.map(request)
        return try await withCheckedThrowingContinuation { continuation in
            do {
                try DetachedThread.start {
                    continuation.resume(
                        with: Result {
                            var loop = try HTTPLoadLoop(
                                port: port,
                                connections: connections,
                                requests: requests,
                                pace: pace,
                                patience: patience
                            )
                            return try loop.run()
                        }
                    )
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    private func request(_ body: [UInt8]) -> [UInt8] {
        let head =
            "POST /apple/v2/notifications HTTP/1.1\r\nhost: 127.0.0.1:\(port)\r\ncontent-type: application/json\r\n"
            + "content-length: \(body.count)\r\n\r\n"
        return Array(head.utf8) + body
    }
}

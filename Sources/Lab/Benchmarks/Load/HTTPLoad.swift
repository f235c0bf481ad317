import Postgres
import ServiceSupport

/// Posts to a local server over persistent connections. One thread does it, since the load generator shares the processors with the
/// measured program.
struct HTTPLoad: Sendable {
    /// When requests are sent.
    enum Pace: Sendable {
        /// Each connection sends the next request as soon as the last one is answered, for so many seconds.
        case asFastAsAnswered(seconds: Double)
        /// `perSecond` requests at even intervals, whether or not earlier ones are answered, until `count` were sent.
        case steady(perSecond: Double, count: Int)
    }

    /// The result of a run in which all requests were answered with 200; otherwise ``HTTPLoad/run()`` throws.
    struct Outcome: Sendable {
        /// From when each request was due to its complete answer, in milliseconds. This includes the wait for a free connection.
        var latencies: [Double] = []
        /// When each request was due, by ``SteadyClock``, in the order of the bodies.
        var dueTimes: [Double] = []
        /// From the first request to the last answer.
        var seconds = 0.0
        /// Of this process, which does nothing else meanwhile.
        var processorTime = Duration.zero

        var rate: Double { seconds > 0 ? Double(latencies.count) / seconds : 0 }
    }

    let port: Int
    let connections: Int
    /// Sent in turn, repeatedly.
    let bodies: [[UInt8]]
    let pace: Pace
    /// The run fails when no request is answered for so many seconds.
    var timeout = 30.0

    func run() async throws -> Outcome {
        let requests = bodies.map(request)
        return try await withCheckedThrowingContinuation { continuation in
            do {
                try DetachedThread.start(named: "load") {
                    continuation.resume(
                        with: Result {
                            var loop = try HTTPLoadLoop(
                                port: port,
                                connections: connections,
                                requests: requests,
                                pace: pace,
                                timeout: timeout
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

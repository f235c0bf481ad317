import Glibc
import Postgres
import ServiceSupport

/// GET requests for one page of a local server, one after the other over one connection, from one thread.
struct PageRequests: Sendable {
    let port: Int
    let path: String
    /// The value of the header field `Cookie`.
    let cookie: String
    /// The run fails when a request is not answered for so many milliseconds.
    private static let timeout: Int32 = 30_000

    /// How long each of `count` requests took, in milliseconds. The one before them is not counted.
    ///
    /// - Throws: ``BenchmarkError`` unless all are answered with 200.
    func run(_ count: Int) async throws -> [Double] {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try DetachedThread.start(named: "pages") { continuation.resume(with: Result { try latencies(count) }) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    private func latencies(_ count: Int) throws(BenchmarkError) -> [Double] {
        let request = Array("GET \(path) HTTP/1.1\r\nhost: 127.0.0.1:\(port)\r\ncookie: \(cookie)\r\n\r\n".utf8)
        var connection = try HTTPLoadConnection(port: port)
        defer { connection.close() }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var latencies: [Double] = []
        for _ in 0...count {
            let start = SteadyClock.now()
            try connection.begin(request, due: start)
            try Self.awaitAnswer(&connection, &buffer)
            latencies.append((SteadyClock.now() - start) * 1000)
        }
        return Array(latencies.dropFirst())
    }

    private static func awaitAnswer(_ connection: inout HTTPLoadConnection, _ buffer: inout [UInt8]) throws(BenchmarkError) {
        while true {
            var event = pollfd(fd: connection.socket, events: connection.events, revents: 0)
            guard poll(&event, 1, timeout) > 0 else { throw BenchmarkError(.wrongResult, "the server has answered nothing for 30 s") }
            if event.revents & Int16(POLLOUT) != 0 { try connection.send() }
            if event.revents & ~Int16(POLLOUT) != 0, try connection.receive(into: &buffer) { return }
        }
    }
}

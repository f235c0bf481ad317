import Synchronization
import TemporaryPostgres
import Testing

@testable import Benchmarks

@Suite(.timeLimit(.minutes(1))) struct HTTPLoadTests {
    private func load(_ server: TinyServer, connections: Int = 1, pace: HTTPLoad.Pace) -> HTTPLoad {
        HTTPLoad(port: server.port, connections: connections, bodies: [[1, 2, 3]], pace: pace, timeout: 0.5)
    }

    @Test func `each request is answered and measured`() async throws {
        let server = try TinyServer { _, _ in .answer }
        let outcome = try await load(server, connections: 3, pace: .steady(perSecond: 100, count: 20)).run()
        #expect(outcome.latencies.count == 20)
        #expect(outcome.dueTimes.count == 20)
    }

    @Test func `connections are used in turn`() async throws {
        let server = try TinyServer { _, _ in .answer }
        _ = try await load(server, connections: 4, pace: .steady(perSecond: 50, count: 20)).run()
        // A slow answer changes the order, but every connection is used again.
        #expect(server.requests.count == 4 && server.requests.allSatisfy { $0 >= 2 }, "\(server.requests)")
    }

    @Test func `an idle connection that the server closed is replaced`() async throws {
        let server = try TinyServer { connection, request in connection == 0 && request == 1 ? .answerAndClose : .answer }
        let outcome = try await load(server, pace: .steady(perSecond: 5, count: 3)).run()
        #expect(outcome.latencies.count == 3)
        #expect(server.requests == [1, 2])
    }

    @Test(arguments: [HTTPLoad.Pace.asFastAsAnswered(seconds: 20), .steady(perSecond: 100, count: 50)])
    func `a server that stops answering ends the measurement`(pace: HTTPLoad.Pace) async throws {
        let server = try TinyServer { _, request in request < 10 ? .answer : .silence }
        let error = try await #require(throws: BenchmarkError.self) { try await load(server, connections: 2, pace: pace).run() }
        #expect(error.message == "the server has answered nothing for 0.5 s, after 18 answers")
    }

    @Test func `a connection that is closed during a request ends the measurement`() async throws {
        let server = try TinyServer { _, _ in .close }
        await #expect(throws: BenchmarkError.self) { try await load(server, pace: .asFastAsAnswered(seconds: 5)).run() }
    }
}

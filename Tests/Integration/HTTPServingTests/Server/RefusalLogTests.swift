import Logging
import PostgresTesting
import ServiceLifecycle
import Testing

@testable import HTTPServing

@Suite(.timeLimit(.minutes(1)))
struct RefusalLogTests {
    /// Runs a log until graceful shutdown, and returns its lines.
    private func lines(_ record: (RefusalLog) -> Void) async throws -> [Substring] {
        let log = CapturedLog()
        var logger = log.logger
        logger.logLevel = .info
        let refusals = RefusalLog(logger: logger)
        record(refusals)
        let group = ServiceGroup(configuration: .init(services: [refusals], logger: logger))
        await group.triggerGracefulShutdown()
        try await group.run()
        return log.text.split(separator: "\n")
    }

    @Test func `each kind is logged once with its count, the most frequent first`() async throws {
        let lines = try await lines { refusals in
            for _ in 1...3 { refusals.record(.notJSON, listener: "notifications", place: "/apple/v2/notifications") }
            for _ in 1...5 { refusals.record(.notFound, listener: "notifications", place: "/apple/v2/notifications/") }
            refusals.record(.malformedRequest, listener: "admin", place: nil)
        }
        #expect(lines.count == 3)
        #expect(lines.allSatisfy { $0.hasPrefix("notice requests were refused ") })
        #expect(lines[0].contains(#""count": 5"#) && lines[0].contains(#""refused.path": /apple/v2/notifications/"#))
        #expect(lines[0].contains(#""refused.status": 404"#) && lines[0].contains(#""refused.reason": not-found"#))
        #expect(lines[1].contains(#""count": 3"#) && lines[1].contains(#""listener": notifications"#))
        #expect(!lines[2].contains("refused.path"))
    }

    @Test func `nothing is logged when nothing was refused`() async throws {
        #expect(try await lines { _ in } == [])
    }

    @Test func `a minute with many paths is logged without them`() async throws {
        let lines = try await lines { refusals in
            for number in 1...1000 { refusals.record(.notFound, listener: "notifications", place: "/\(number)") }
        }
        #expect(lines.count == 51)
        #expect(lines[0].contains(#""count": 950"#) && !lines[0].contains("refused.path"))
    }

    @Test func `the log is written at each interval`() async throws {
        let log = CapturedLog()
        let refusals = RefusalLog(every: .milliseconds(1), logger: log.logger)
        let group = ServiceGroup(configuration: .init(services: [refusals], logger: log.logger))
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            for _ in 1...3 {
                let before = log.text.count
                refusals.record(.notFound, listener: "x", place: "/")
                while !log.text.dropFirst(before).contains("requests were refused") { await Task.yield() }
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    @Test(arguments: [
        ("/apple/v2/notifications", "/apple/v2/notifications"), ("/task/ann", "/task/{name}"), ("/task/%zz", "/task/{name}"),
        ("/a b\"\\\u{7}\u{e9}", "/a%20b%22%5C%07%C3%A9"),
        ("/" + String(repeating: "x", count: 150), "/" + String(repeating: "x", count: 99) + "..."),
    ])
    func `a path is logged as its template, or shortened and escaped`(path: String, place: String) {
        #expect(ScriptedEndpoint().routes.place(of: path) == place)
    }

    @Test func `unknown paths can be hidden`() {
        #expect(Routes(hidesUnknownPaths: true).place(of: "/v1/users/ann") == "(unknown)")
    }
}

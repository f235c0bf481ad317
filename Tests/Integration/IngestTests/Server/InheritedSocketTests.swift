import Glibc
import HTTPServing
import HTTPServingTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

@testable import Ingest

/// A socket that outlives the process, as systemd's sockets do.
@Suite(.timeLimit(.minutes(2)))
struct InheritedSocketTests {
    /// What the clients of a test have done.
    private final class Progress: Sendable {
        let answered = Atomic(0)
        let running = Atomic(8)
        let isOver = Atomic(false)
    }

    @Test func `clients that connect between two servers, or as one shuts down, are answered`() async throws {
        let (socket, port) = try Self.listen()
        defer { close(socket) }
        let database = try await TestDatabase.migrated()
        let post = SampleNotification.post(SampleNotification.body())
        var posts = 2
        try await run(database, socket, port) { server in
            #expect(server.ports.notifications == Int(port))
            let silent = try await RawClient.connect(port: Int(port), sending: "")
            let kept = try await RawClient.connect(port: Int(port), sending: post)
            #expect(try await kept.response().status == 200)
            await server.shutDown()
            for client in [silent, kept] {
                // The signal reaches each connection in its own time: until then it is kept.
                var isKept = true
                while isKept {
                    try await client.send(post)
                    let response = try await client.response()
                    try #require(response.status == 200)
                    isKept = response.headers["connection"] != "close"
                    posts += 1
                }
            }
        }
        let waiting = try await RawClient.connect(port: Int(port), sending: post)
        try await run(database, socket, port) { _ in
            let response = try await waiting.response()
            #expect(response.status == 200)
        }
        #expect(try await database.query("SELECT 1 FROM appstore.inbox").count == posts)
    }

    @Test func `no post is refused while servers take turns`() async throws {
        let (socket, port) = try Self.listen()
        defer { close(socket) }
        let database = try await TestDatabase.migrated()
        let progress = Progress()
        try await withThrowingTaskGroup(of: [Int].self) { clients in
            for _ in 1...8 {
                clients.addTask {
                    defer { progress.running.subtract(1, ordering: .relaxed) }
                    var statuses: [Int] = []
                    while !progress.isOver.load(ordering: .relaxed) {
                        let client = try await RawClient.connect(
                            port: Int(port),
                            sending: SampleNotification.post(SampleNotification.body())
                        )
                        statuses.append(try await client.response().status)
                        client.close()
                        progress.answered.add(1, ordering: .relaxed)
                    }
                    return statuses
                }
            }
            for turn in 1...12 {
                try await run(database, socket, port) { _ in
                    while progress.answered.load(ordering: .relaxed) < turn * 40 { await Task.yield() }
                    guard turn == 12 else { return }
                    progress.isOver.store(true, ordering: .relaxed)
                    while progress.running.load(ordering: .relaxed) > 0 { await Task.yield() }
                }
            }
            for try await statuses in clients { #expect(Set(statuses) == [200]) }
        }
        #expect(try await database.query("SELECT 1 FROM appstore.inbox").count == progress.answered.load(ordering: .relaxed))
    }

    private func run(
        _ database: TestDatabase,
        _ socket: CInt,
        _ port: UInt16,
        _ body: (RunningServer) async throws -> Void
    ) async throws {
        let listen = ListenAddress.inherited(descriptor: dup(socket), address: "127.0.0.1:\(port)")
        try await RunningServer.run(database: database, server: { $0.listen = listen }, body)
    }

    /// A socket that listens at a free port.
    private static func listen() throws -> (descriptor: CInt, port: UInt16) {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && Glibc.listen(descriptor, 16) == 0 && getsockname(descriptor, address, &size) == 0
            }
        }
        try #require(status)
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }
}

import AppStore
import Foundation
import HTTPRequesting
import NIOCore
import NIOHTTP1
import NIOSSL
import StoreSimulator
import StoreSimulatorServer
import StrictJSON
import Testing
import WebhookReceiver

/// The simulated API over TLS.
struct StoreServerAPITests {
    private static let identity = Result { try SimulatedHostIdentity.generate(around: Timestamp(Date())) }

    /// Runs a test with a server for a scene, and the settings of a client that trusts it.
    private func serving(
        _ scene: APIScene,
        _ body: @Sendable (StoreServerAPI, TLSConfiguration) async throws -> Void
    ) async throws {
        let identity = try Self.identity.get()
        let now = scene.now
        var configuration = StoreServerAPI.Configuration { now }
        configuration.identity = identity
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(identity.rootPEM.utf8)))
        tls.shutdownTimeout = .milliseconds(50)
        let made = tls
        try await StoreServerAPI.with(scene.api, configuration) { server in try await body(server, made) }
    }

    /// Asks over a connection of its own.
    private static func ask(
        _ server: StoreServerAPI,
        _ tls: TLSConfiguration,
        _ method: HTTPMethod,
        _ target: String,
        _ key: ServerAPIKey,
        _ scene: APIScene,
        in environment: AppStoreEnvironment = .production,
        atMost limit: Int = 16 << 20
    ) async throws -> ReceivedAnswer {
        let address = try HTTPAddress(try #require(server.address(of: environment)) + target)
        let token = try key.token(for: SimulatedApp.test.bundleID, at: scene.now)
        let request = HTTPRequest(method, address, headers: [("authorization", "Bearer \(token)")], maximumBytes: limit)
        let client = try DirectClient(tls: tls)
        defer { client.close() }
        return try await client.send(request, timeout: .seconds(30))
    }

    @Test func `both environments answer over TLS, each with its own transactions`() async throws {
        var scene = try APIScene()
        let life = try scene.buyer(1)
        let (known, target) = (scene, "/inApps/v1/transactions/\(life.chargeIDs[0])")
        try await serving(scene) { server, client in
            let found = try await Self.ask(server, client, .GET, target, known.key, known)
            #expect(found.status == 200 && found.headers.first(name: "date") == "Tue, 31 Mar 2026 08:00:00 GMT")
            #expect(try JSONParser().parseObject(found.body)["signedTransactionInfo"] != nil)
            let absent = try await Self.ask(server, client, .GET, target, known.key, known, in: .sandbox)
            #expect(absent.status == 404 && absent.headers.first(name: "content-type") == "application/json")
            let stranger = try ServerAPIKey.generate(seed: 7)
            let refused = try await Self.ask(server, client, .GET, target, stranger, known)
            #expect(refused.status == 401 && refused.body.isEmpty && refused.headers.first(name: "content-length") == "0")
            #expect(server.calls.map(\.status) == [200, 404, 401])
            #expect(server.calls.map(\.flaw) == [nil, nil, .unknownKey])
        }
    }

    @Test func `answers are cut off, held, closed after or reset`() async throws {
        var scene = try APIScene()
        let life = try scene.buyer(1)
        let manners: [ServerAPIFault] = [
            .manner(.cut(after: 10)), .reset, .manner(.thenClosed), .manner(.trickling(every: .milliseconds(5))),
        ]
        for fault in manners { scene.api.faults.add(fault) }
        let (known, target) = (scene, "/inApps/v1/transactions/\(life.chargeIDs[0])")
        try await serving(scene) { server, client in
            await #expect(throws: (any Error).self) { try await Self.ask(server, client, .GET, target, known.key, known) }
            await #expect(throws: (any Error).self) { try await Self.ask(server, client, .GET, target, known.key, known) }
            #expect(try await Self.ask(server, client, .GET, target, known.key, known).status == 200)
            await #expect(throws: (any Error).self) { try await Self.ask(server, client, .GET, target, known.key, known, atMost: 3) }
            #expect(try await Self.ask(server, client, .GET, target, known.key, known).status == 200)
            server.access { $0.faults.add(.manner(.whenReleased)) }
            async let held = Self.ask(server, client, .GET, target, known.key, known)
            var count = 0
            for await event in server.events {
                if case .answered = event { count += 1 }
                if count == 6 { break }
            }
            server.release()
            let answer = try await held
            #expect(answer.status == 200)
        }
    }

    @Test(arguments: [(200, "SUCCESS"), (500, "UNSUCCESSFUL_HTTP_RESPONSE_CODE")])
    func `a test is posted to the app's URL, and its status says what the server answered`(status: Int, result: String) async throws {
        let receiver = try await WebhookReceiver.start { _ in WebhookReceiver.Answer(status) }
        defer { receiver.stop() }
        var scene = try APIScene()
        scene.api.apps[0].addresses[.production] = .url(receiver.url)
        let known = scene
        try await serving(scene) { server, client in
            let asked = try await Self.ask(server, client, .POST, "/inApps/v1/notifications/test", known.key, known)
            let token = try #require(try JSONParser().parseObject(asked.body)["testNotificationToken"]?.string)
            for await event in server.events { if case .posted = event { break } }
            let answer = try await Self.ask(server, client, .GET, "/inApps/v1/notifications/test/\(token)", known.key, known)
            let json = try JSONParser().parseObject(answer.body)
            #expect(json["sendAttempts"]?.list?.first?.object?["sendAttemptResult"]?.string == result)
            let posted = try #require(receiver.received.first)
            #expect(try JSONParser().parseObject(posted.body)["signedPayload"] == json["signedPayload"])
        }
    }

    @Test func `a URL without a server is a socket issue, and one without TLS a TLS issue`() async throws {
        let receiver = try await WebhookReceiver.start()
        defer { receiver.stop() }
        var scene = try APIScene()
        scene.api.apps[0].addresses = [.production: .url("https://localhost:\(receiver.port)/"), .sandbox: .url("http://127.0.0.1:1/")]
        let (production, sandbox) = (SimulatedStore.test().copyOfTest(), SimulatedStore.test(.testSandbox).copyOfTest())
        try await serving(scene) { server, _ in
            var events = server.events.makeAsyncIterator()
            server.post(try Genuine.signer.sign(production))
            #expect(await events.next() == .posted(.tlsIssue))
            server.post(try Genuine.signer.sign(sandbox))
            #expect(await events.next() == .posted(.socketIssue))
        }
    }
}

extension Timestamp {
    fileprivate init(_ date: Date) {
        self.init(millisecondsSince1970: Int64(date.timeIntervalSince1970 * 1000))
    }
}

extension SimulatedStore {
    /// A TEST of a copy of this store.
    fileprivate func copyOfTest() -> SimulatedNotification {
        var store = self
        return store.test()
    }
}

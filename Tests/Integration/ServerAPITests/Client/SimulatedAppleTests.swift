import AppStore
import Foundation
import Outbox
import StoreSimulator
import StoreSimulatorServer
import TemporaryPostgres
import Testing

@testable import ServerAPI

/// The client against the simulated App Store Server API, over TLS: the store verifies the tokens by itself.
struct SimulatedAppleTests {
    private static let bundleID = "com.example.app"
    private static let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))

    /// Runs a test with a store, and a client that has the key from a file.
    private func run(
        isReleased: Bool = true,
        _ body: @Sendable (StoreServerAPI, @Sendable (ServerAPI.ServerAPIEndpoint, CallLane) async -> String) async throws -> Void
    ) async throws {
        let folder = try ClusterFolder.make(named: "appstore-inbox-tests")
        let identity = try SimulatedHostIdentity.generate(around: Self.now)
        let simulatedKey = try StoreSimulator.ServerAPIKey.generate(seed: 1)
        let path = try simulatedKey.write(to: folder.path)
        let content = Array(try Data(contentsOf: URL(filePath: path)))
        let key = try APIKeyFile.key(try APIKeyFile.id(issuer: simulatedKey.issuer, name: URL(filePath: path).lastPathComponent), content)
        let root = folder.appending(path: "root.pem").path
        try Data(identity.rootPEM.utf8).write(to: URL(filePath: root))
        var app = SimulatedServerAPI.App(bundleID: Self.bundleID, issuer: simulatedKey.issuer)
        app.isReleased = isReleased
        let authority = try TestAuthority.generate(AuthorityOptions(around: Self.now))
        let api = SimulatedServerAPI(apps: [app], keys: [simulatedKey], signer: NotificationSigner(authority: authority), seed: 1)
        var configuration = StoreServerAPI.Configuration { Self.now }
        configuration.identity = identity
        var exchange = Exchange.Configuration()
        exchange.extraRootPaths = [root]
        try await StoreServerAPI.with(api, configuration) { [exchange] store in
            var hosts = ServerAPIHosts()
            hosts.production = try #require(store.address(of: .production))
            hosts.sandbox = try #require(store.address(of: .sandbox))
            let keys = APIKeys([key], lanes: [CallLane(Self.bundleID, .production), CallLane(Self.bundleID, .sandbox)])
            let script = ScriptedAPI()
            let client = ServerAPIClient(
                hosts: hosts,
                keys: { keys },
                budget: script.budget,
                logger: script.log.logger,
                metrics: script.registry,
                now: { Self.now }
            )
            try await Exchange.withClient(exchange) { exchange in
                try await body(store) { endpoint, lane in
                    let path = endpoint == .transactionInfo ? ["2000000000000001"] : []
                    let request = ServerAPI.ServerAPIRequest(endpoint, of: lane.bundleID, in: lane.environment, path: path)
                    return await client.send(request, class: .interactive, through: exchange).summary
                }
            }
            #expect(!script.log.lines.contains { $0.contains("eyJ") }, "a token is in the log")
        }
        try FileManager.default.removeItem(at: folder)
    }

    private static let production = CallLane(bundleID, .production)
    private static let sandbox = CallLane(bundleID, .sandbox)

    @Test func `the store accepts the token of each environment, and its errors are understood`() async throws {
        try await run { store, ask in
            #expect(await ask(.transactionInfo, Self.production) == "refused apple_4040010")
            #expect(await ask(.transactionInfo, Self.sandbox) == "refused apple_4040010")
            #expect(store.calls.map(\.status) == [404, 404] && store.calls.allSatisfy { $0.flaw == nil })
        }
    }

    @Test func `a revoked key waits, without an attempt`() async throws {
        try await run { store, ask in
            #expect(await ask(.transactionInfo, Self.production) == "refused apple_4040010")
            store.access { $0.keys[0].isRevoked = true }
            #expect(await ask(.transactionInfo, Self.production).hasPrefix("later api_key uncounted"))
            #expect(await ask(.transactionInfo, Self.production).hasPrefix("later api_key uncounted"))
            #expect(store.calls.map(\.status) == [404, 401])
        }
    }

    @Test func `an app without a release is refused in Production only`() async throws {
        try await run(isReleased: false) { store, ask in
            #expect(await ask(.transactionInfo, Self.sandbox) == "refused apple_4040010")
            #expect(await ask(.transactionInfo, Self.production).hasPrefix("later api_key uncounted"))
            #expect(store.calls.map(\.status) == [404, 401])
        }
    }

    @Test func `Apple's Retry-After in milliseconds ends with the hour`() async throws {
        try await run { store, ask in
            store.access { $0.limits.allowances[.transactionInfo] = 0 }
            let answer = await ask(.transactionInfo, Self.production)
            let seconds = try #require(Int(answer.split(separator: " ").last?.dropLast() ?? ""))
            #expect(answer.hasPrefix("later rate_limited uncounted") && (0...3600).contains(seconds))
            let left = 3600 - Self.now.millisecondsSince1970 / 1000 % 3600
            #expect(abs(Int64(seconds) - left) <= 1)
        }
    }
}

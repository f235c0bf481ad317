import AppStore
import Foundation
import StoreSimulator
import StoreSimulatorServer
import Testing

@testable import Outbox

/// Which server certificates are accepted before a secret is sent.
@Suite(.timeLimit(.minutes(2)))
struct ExchangeTLSTests {
    /// In the middle of the certificate's life.
    private static var today: Timestamp { Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000)) }

    private let request = OutboundRequest(.post, "", body: Array("{}".utf8), maximumAnswerBytes: 1_000_000)

    /// Sends a request to a server with the identity, and trusts the root in addition to the system's.
    private func outcome(
        _ identity: SimulatedHostIdentity?,
        trusting root: SimulatedHostIdentity?,
        isOutdated: Bool = false,
        scheme: String = "https"
    ) async throws -> ExchangeOutcome {
        let server = try await Simulated.server(SimulatedReceiptStore(), identity: identity, isOutdated: isOutdated)
        let address = try #require(server.address(of: .production))
        var request = request
        request.url = "\(scheme)\(address.drop { $0 != ":" })"
        var configuration = Exchange.Configuration()
        let file = FileManager.default.temporaryDirectory.appending(path: "outbox-root-\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        if let root {
            try Data(root.rootPEM.utf8).write(to: file)
            configuration.extraRootPaths = [file.path]
        }
        let outcome = try await Exchange.withClient(configuration) { [request] in await $0.send(request, timeout: .seconds(60)) }
        // A refused server has received no request.
        #expect(outcome.answer != nil || server.received == [])
        await server.stop()
        return outcome
    }

    @Test func `a certificate of a trusted root for the host's name is accepted`() async throws {
        let identity = try SimulatedHostIdentity.generate(around: Self.today)
        #expect(try await outcome(identity, trusting: identity).answer?.status == 200)
    }

    @Test func `a certificate of an unknown root is refused`() async throws {
        let identity = try SimulatedHostIdentity.generate(around: Self.today)
        #expect(try await outcome(identity, trusting: nil).failure == .tlsFailed)
        #expect(try await outcome(identity, trusting: SimulatedHostIdentity.generate(around: Self.today)).failure == .tlsFailed)
    }

    @Test func `a certificate for another host is refused`() async throws {
        let identity = try SimulatedHostIdentity.generate(name: "buy.itunes.apple.com", around: Self.today)
        #expect(try await outcome(identity, trusting: identity).failure == .tlsFailed)
    }

    @Test(arguments: [-3, 3])
    func `a certificate that has expired, or is not valid yet, is refused`(years: Int) async throws {
        let identity = try SimulatedHostIdentity.generate(around: Self.today.advanced(by: .seconds(years * 365 * 86_400)))
        #expect(try await outcome(identity, trusting: identity).failure == .tlsFailed)
    }

    @Test func `a host that supports nothing newer than TLS 1_1 is refused`() async throws {
        let identity = try SimulatedHostIdentity.generate(around: Self.today)
        #expect(try await outcome(identity, trusting: identity, isOutdated: true).failure == .tlsFailed)
    }

    @Test func `a host without TLS is refused`() async throws {
        #expect(try await outcome(nil, trusting: nil).failure == .tlsFailed)
    }

    @Test func `a root file that cannot be read fails the start`() async throws {
        var configuration = Exchange.Configuration()
        configuration.extraRootPaths = ["/nonexistent/root.pem"]
        await #expect(throws: (any Error).self) { try await Exchange.withClient(configuration) { _ in } }
    }
}

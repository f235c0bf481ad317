import AppStore
import EndToEndTesting
import Foundation
import OpenSSL
import Postgres
import PostgresTesting
import StoreSimulator
import StoreSimulatorServer
import Testing

extension EndToEnd {
    /// The built worker and an OCSP responder that revokes.
    @Suite struct RevocationTests {
        private static var now: Int64 { Int64(Date().timeIntervalSince1970) }

        @Test func `a worker rejects what a revoked certificate signs, and says so`() async throws {
            let responder = try await ResponderServer.start()
            defer { responder.stop() }
            var options = AuthorityOptions.longLived(around: Timestamp(millisecondsSince1970: Self.now * 1000))
            options.responder = responder.url
            let authority = try TestAuthority.generate(options)
            responder.answer { request in
                let isLeaf = authority.leaf.ocspAddresses.contains { $0.hasSuffix(request.path) }
                do {
                    let answer = try authority.ocspAnswer(
                        about: isLeaf ? authority.leaf : authority.intermediate,
                        isLeaf ? .revoked(at: Self.now, .keyCompromise) : .good,
                        thisUpdate: Self.now,
                        nextUpdate: Self.now + 3600,
                        by: .delegate
                    )
                    return .init(200, answer)
                } catch {
                    return .init(500)
                }
            }
            var shop = try Shop(authority: authority)
            let bodies = try shop.bodies(shop.purchases(2))
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                _ = try await installation.startWorker(for: shop)
                _ = try await ingest.client.post([bodies[0]])
                try await eventually("the leaf is revoked") {
                    let rows = try await installation.sql.rows(
                        "SELECT FROM appstore.certificates WHERE crl_reason = 'key_compromise'"
                    )
                    return rows.count == 1
                }
                try await eventually("leaf and intermediate are asked about") { responder.received.count == 2 }
                // Another worker reads the register before its first event.
                _ = try await installation.startWorker(for: shop, ["APPSTORE_INBOX_OCSP": "off"])
                try await eventually("events are rejected") {
                    _ = try await ingest.client.post([bodies[1]])
                    let events = try await installation.sql.rows(
                        "SELECT FROM appstore.outcomes WHERE result = 'rejected' AND reason = 'certificate_revoked'"
                    )
                    return events.count > 0
                }
                let viewer = ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: "appstore_viewer")]
                let status = try await Program.run(["status"], settings: viewer)
                #expect(status.output.contains("ocsp        2 certificates that sign, 1 revoked"), "\(status.output)")
                let doctor = try await Program.run(["doctor"], settings: viewer)
                #expect(doctor.ending == .exit(2) && doctor.output.contains("appstore.revoked_events"), "\(doctor.output)")
            }
        }
    }
}

import AppStoreVerification
import InboxTesting
import OpenSSL
import Postgres
import StoreSimulator
import Testing

@testable import Revocation

/// How workers share the questions.
struct RevocationLeaseTests {
    @Test func `two workers ask once`() async throws {
        let scene = try await RevocationScene()
        try await scene.withWorker { first in
            try await scene.withWorker { second in
                for worker in [first, second] {
                    _ = try await scene.receive()
                    try await worker.work()
                }
                for _ in 1...3 {
                    async let one: Void = first.ask()
                    async let other: Void = second.ask()
                    _ = try await (one, other)
                }
                #expect(scene.responder.asked.count == 2)
                #expect(try await scene.database.lines("SELECT epoch::text FROM appstore.certificates") == ["1", "1"])
            }
        }
    }

    @Test func `the other worker learns of a revocation when it looks`() async throws {
        let scene = try await RevocationScene()
        scene.responder.set(.init(.revoked(at: MakeBelieveResponder.now, .unspecified)), about: scene.authority.intermediate)
        try await scene.withWorker { asking in
            try await scene.withWorker { other in
                _ = try await scene.receive()
                try await asking.work()
                try await asking.ask()
                let event = try await scene.receive()
                try await other.ask()
                try await other.work()
                #expect(try await scene.outcome(of: event) == "rejected certificate_revoked")
                #expect(scene.responder.asked.count == 2)
            }
        }
    }

    @Test func `a lease that expired is another worker's, and the late answer changes nothing`() async throws {
        let scene = try await RevocationScene()
        let pool = try scene.database.pool(user: "appstore_worker")
        let register = RevocationRegister(pool: pool)
        try await register.see([IssuedCertificate(scene.authority.leaf, issuer: scene.authority.intermediate)])
        let late = try #require(try await register.lease(for: .seconds(60)))
        #expect(try await register.lease(for: .seconds(60)) == nil)
        try await scene.execute("UPDATE appstore.certificates SET leased_until = now() - interval '1 second'")
        let lease = try #require(try await register.lease(for: .seconds(60)))
        #expect(lease.epoch == late.epoch + 1)
        let validity = OCSPValidity(thisUpdate: MakeBelieveResponder.now, nextUpdate: MakeBelieveResponder.now + 60)
        let revocation = OCSPRevocation(time: 0, reason: .unspecified)
        #expect(try await register.settle(late, .answered(validity, revocation), askAgainAfter: .seconds(60)) == false)
        #expect(try await register.settle(lease, .answered(validity, nil), askAgainAfter: .seconds(60)))
        #expect(try await scene.register("status") == "good")
        await pool.close()
    }

    @Test func `a certificate that has not signed for a month is not asked about`() async throws {
        let scene = try await RevocationScene()
        let pool = try scene.database.pool(user: "appstore_worker")
        let register = RevocationRegister(pool: pool)
        let leaf = IssuedCertificate(scene.authority.leaf, issuer: scene.authority.intermediate)
        try await register.see([leaf, leaf])
        try await scene.execute("UPDATE appstore.certificates SET seen_at = now() - interval '31 days'")
        #expect(try await register.lease(for: .seconds(60)) == nil)
        #expect(try await scene.statistics().certificates == 0)
        try await register.see([leaf])
        #expect(try await register.lease(for: .seconds(60)) != nil)
        await pool.close()
    }
}

extension RevocationScene {
    func statistics() async throws -> RevocationStatistics {
        let rows = try await database.withConnection(user: "appstore_viewer") { try await $0.query(RevocationStatistics.statement) }
        return try RevocationStatistics(try #require(rows.first))
    }
}

import AppStore
import FoundationEssentials
import InboxTesting
import LivesTesting
import Postgres
import PostgresTesting
import Randomness
import StoreSimulator
import Testing

/// Problematic input from third parties, through the real inbox and worker.
struct StrangerRegressionTests {
    @Test func `an unknown type is kept as unhandled, and its facts are merged`() async throws {
        try await RegressionScene.play { scene in
            var unknown = try scene.life.subscribe()
            (unknown.type, unknown.subtype) = (NotificationTypeV2(rawValue: "TOMORROW"), Subtype(rawValue: "PERHAPS"))
            try await work(on: [scene.event(unknown)], in: scene.ledger)
            #expect(try await outcomes(scene.ledger) == ["unhandled unknown_notification TOMORROW"])
            #expect(try await scene.contracts() == ["Production - 1 renews"])
        }
    }

    @Test func `an event of another app changes nothing`() async throws {
        try await RegressionScene.play { scene in
            let purchase = scene.event(try scene.life.subscribe(appAccountToken: UUID()))
            let refund = scene.event(try scene.life.refund())
            try await work(on: [purchase], in: scene.ledger)
            let before = try await scene.ledger.digests()
            try await work(on: [purchase, refund].compactMap(\.inAnotherApp), in: scene.ledger)
            #expect(
                try await outcomes(scene.ledger) == [
                    "applied SUBSCRIBED", "rejected wrong_bundle SUBSCRIBED", "rejected wrong_bundle REFUND",
                ]
            )
            #expect(try await scene.ledger.digests() == before)
        }
    }

    @Test func `a purchase posted by another user stays with its owner`() async throws {
        try await RegressionScene.play { scene in
            let token = UUID()
            let purchase = try scene.life.subscribe(appAccountToken: token)
            try await scene.order(token, user: "anna", for: purchase)
            let posts = [
                try scene.post(purchase, by: "thief", after: .seconds(1)), try scene.post(purchase, by: "anna", after: .seconds(2)),
            ]
            try await work(on: posts, in: scene.ledger)
            #expect(
                Set(try await outcomes(scene.ledger).map { String($0.split(separator: " ").dropFirst().first ?? "") }) == [
                    "owner_conflict", "",
                ]
            )
            #expect(try await scene.contracts() == ["Production anna ends"])
        }
    }

    private func work(on events: [LifeEvent], in ledger: LedgerFixture) async throws {
        var generator = SeededGenerator(seed: 1)
        let bodies = try SignedBodies.genuine.get()
        try await bodies.receive(events, in: ledger.database, using: &generator)
        let runner = WorkerRunner(ledger: ledger, verifier: try bodies.verifier(), receipts: try bodies.receiptVerifier(), logger: .silent)
        try await runner.work(batchesAtOnce: 1, while: [])
    }

    private func outcomes(_ ledger: LedgerFixture) async throws -> [String] {
        try await ledger.database.lines(
            "SELECT concat_ws(' ', result, reason, notification_type) FROM appstore.outcomes ORDER BY event_id"
        )
    }
}

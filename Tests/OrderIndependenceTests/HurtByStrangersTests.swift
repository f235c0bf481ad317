import AppStore
import FoundationEssentials
import InboxTesting
import LivesTesting
import Postgres
import PostgresTesting
import Randomness
import StoreSimulator
import Testing

/// What hurts when others send it, through the real inbox and worker.
struct HurtByStrangersTests {
    @Test func `an unknown type is kept as unhandled, and its facts are merged`() async throws {
        try await HurtScene.play { scene in
            var tomorrow = try scene.life.subscribe()
            (tomorrow.type, tomorrow.subtype) = (NotificationTypeV2(rawValue: "TOMORROW"), Subtype(rawValue: "PERHAPS"))
            try await work(on: [scene.event(tomorrow)], in: scene.hall)
            #expect(try await outcomes(scene.hall) == ["unhandled unknown_notification TOMORROW"])
            #expect(try await scene.contracts() == ["Production - 1 renews"])
        }
    }

    @Test func `an event of another app never touches anything`() async throws {
        try await HurtScene.play { scene in
            let purchase = scene.event(try scene.life.subscribe(appAccountToken: UUID()))
            let refund = scene.event(try scene.life.refund())
            try await work(on: [purchase], in: scene.hall)
            let before = try await scene.hall.digests()
            try await work(on: [purchase, refund].compactMap(\.inAnotherApp), in: scene.hall)
            #expect(
                try await outcomes(scene.hall) == [
                    "applied SUBSCRIBED", "rejected wrong_bundle SUBSCRIBED", "rejected wrong_bundle REFUND",
                ]
            )
            #expect(try await scene.hall.digests() == before)
        }
    }

    @Test func `another's purchase that a client posts stays the other's`() async throws {
        try await HurtScene.play { scene in
            let token = UUID()
            let purchase = try scene.life.subscribe(appAccountToken: token)
            try await scene.order(token, user: "anna", for: purchase)
            let posts = [
                try scene.post(purchase, by: "thief", after: .seconds(1)), try scene.post(purchase, by: "anna", after: .seconds(2)),
            ]
            try await work(on: posts, in: scene.hall)
            #expect(
                Set(try await outcomes(scene.hall).map { String($0.split(separator: " ").dropFirst().first ?? "") }) == [
                    "owner_conflict", "",
                ]
            )
            #expect(try await scene.contracts() == ["Production anna ends"])
        }
    }

    private func work(on events: [LifeEvent], in hall: BookHall) async throws {
        var generator = SeededGenerator(seed: 1)
        let bodies = try SignedBodies.genuine.get()
        try await bodies.receive(events, in: hall.database, using: &generator)
        let crew = WorkerCrew(hall: hall, verifier: try bodies.verifier(), receipts: try bodies.receiptVerifier(), logger: .silent)
        try await crew.work(batchesAtOnce: 1, while: [])
    }

    private func outcomes(_ hall: BookHall) async throws -> [String] {
        try await hall.database.lines(
            "SELECT concat_ws(' ', result, reason, notification_type) FROM appstore.outcomes ORDER BY event_id"
        )
    }
}

import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import Randomness
import SignedTesting
import StoreSimulator
import Testing

/// The Sandbox, where a month passes in minutes.
struct SandboxPaceTests {
    @Test(arguments: 0..<4 as Range<UInt64>)
    func `six periods of five minutes, shuffled and with the end between them, are six orders and one contract`(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let minutes = 1.0 / 1440
        let no = UUID()
        let periods = (0..<6).map { place in
            let start = Double(5 * place - 60) * minutes
            return Sale("pro.monthly", "\(1000 + place)", of: "1000", onDay: start, until: start + 5 * minutes, token: no)
                .with { $0.app = SignedScene.sandboxApp }
        }
        var notifications: [(Sale, NotificationTypeV2, Subtype?)] = periods.map { ($0, .didRenew, nil) }
        notifications[0] = (periods[0], .subscribed, .initialBuy)
        notifications.append((periods[5].expired(onDay: -30 * minutes, .customerCancelled), .expired, .voluntary))
        try await WorkerScene.with { scene in
            try await scene.run("SELECT appstore.create_order('anna', 'pro.monthly', \(no))")
            for (sale, type, subtype) in notifications.shuffled(using: &generator) { try await scene.notify(type, subtype, of: sale) }
            #expect(try await scene.orders("Sandbox") == (1000..<1006).map { "\($0) anna paid" })
            #expect(try await scene.orders() == ["- anna pending"])
            #expect(try await scene.access(of: "anna") == ["pro.monthly ended expired -0.02"])
            #expect(try await scene.effects() == ["expired"] + (1000..<1006).map { "granted 1000/5\($0)" })
        }
    }
}

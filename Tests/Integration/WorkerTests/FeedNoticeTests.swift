import AppStore
import Foundation
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// What notifications say beside a charge reaches the readers of the feed.
struct FeedNoticeTests {
    private static let bare = [
        NotificationKind(.rescindConsent), NotificationKind(.renewalExtension, .summary),
        NotificationKind(.externalPurchaseToken, .created),
        NotificationKind(.unclaimSeats),
    ]

    private static func withFeed(_ body: (WorkerScene) async throws -> Void) async throws {
        try await WorkerScene.with { scene in
            _ = try await scene.database.lines("SELECT appstore.enable_feed()::text")
            try await body(scene)
        }
    }

    /// Processes all events and returns the entries of effects other than grants: what `columns` says of each, sorted.
    private static func told(_ columns: String, in scene: WorkerScene) async throws -> [String] {
        try await scene.work()
        try await scene.database.sequenceFeed()
        return try await scene.database.lines(
            Statement(
                stringLiteral: """
                    SELECT concat_ws(' ', type, \(columns)) FROM appstore.feed WHERE type LIKE 'effect.%' AND type <> 'effect.granted' ORDER BY 1
                    """
            )
        )
    }

    /// Receives notifications that are about no purchase.
    private static func receiveBare(in scene: WorkerScene) async throws {
        for kind in bare {
            let jws = try SignedScene.sign(
                SignedScene.trigger(kind).notification(),
                outer: { if kind.type == .unclaimSeats { $0["data"] = .object(appOnly) } }
            )
            try await scene.receive(notification: jws)
        }
    }

    private static let appOnly: JSONObject = [
        "environment": "Production", "bundleId": .string(SignedScene.app.bundleID), "appAppleId": .integer(42),
    ]

    @Test func `a notification without a purchase is told to those who read its app`() async throws {
        try await Self.withFeed { scene in
            try await Self.receiveBare(in: scene)
            let columns = """
                bundle_id, coalesce(subject, '-'), coalesce(user_id, '-'), (SELECT string_agg(d.key, ',' ORDER BY d.key)
                                                                          FROM jsonb_object_keys(data -> 'details') AS d (key)),
                appstore.feed_wants(type, environment, bundle_id, '{effect.*}', '{com.example.app}', '{Production}')
                """
            #expect(
                try await Self.told(columns, in: scene) == [
                    "effect.consent_rescinded com.example.app - - app_transaction_id t",
                    "effect.extension_completed com.example.app - - failed,product_id,request_identifier,storefronts,succeeded t",
                    "effect.external_purchase_token com.example.app - - created_at,id,report_by,subtype t",
                    "effect.seats_unclaimed com.example.app - - seat_claim_ids t",
                ]
            )
        }
    }

    @Test func `one that is older than the time from which its app is live is recorded and not told`() async throws {
        try await Self.withFeed { scene in
            _ = try await scene.database.lines("SELECT appstore.set_live_since(\(SignedScene.app.bundleID), now())::text")
            try await Self.receiveBare(in: scene)
            #expect(try await Self.told("subject", in: scene) == [])
            #expect(try await scene.count(of: "effects") == [Int64(Self.bare.count)])
        }
    }

    @Test func `a notification about a contract is told once, with its details, the contract and the user`() async throws {
        try await Self.withFeed { scene in
            var store = SimulatedStore(app: SignedScene.app, seed: 7, now: SignedScene.now.advanced(by: .seconds(-86_400)))
            var life = store.makeCustomer()
            let (order, plan) = (UUID(), try #require(store.catalogue.plans.first))
            _ = try await scene.database.lines("SELECT appstore.create_order('anna', \(plan.id), \(order))::text")
            let bought = try life.subscribe(to: plan, appAccountToken: order)
            try await scene.receive(notification: SignedScene.signer().sign(bought).jws)
            try await scene.work()
            var seats = bought.repeated(as: UUID(), at: bought.signedDate)
            (seats.type, seats.subtype) = (.didChangeRenewalPref, .increaseQuantity)
            let later = try [life.migrate(), life.updateMetadata(displayName: "other"), life.changePrice(to: 1990)]
            for notification in [seats] + later {
                let jws = try SignedScene.sign(
                    notification,
                    transaction: { if notification.type == .migration { $0["previousOriginalTransactionId"] = "1000" } },
                    renewalInfo: { if notification.subtype == .increaseQuantity { $0["renewalQuantity"] = 7 } }
                )
                // Apple's retry has the same UUID.
                for _ in 0..<2 { try await scene.receive(notification: jws) }
            }
            let contract = try #require(bought.originalTransactionID)
            #expect(
                try await Self.told("subject, user_id, data -> 'details'", in: scene) == [
                    "effect.metadata_updated \(contract) anna null",
                    #"effect.migrated \#(contract) anna {"previous_original_transaction_id": "1000"}"#,
                    "effect.price_changed \(contract) anna null",
                    #"effect.seats_changed \#(contract) anna {"subtype": "INCREASE_QUANTITY", "renewal_quantity": 7}"#,
                ]
            )
        }
    }
}

import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import Testing

/// What Apple says about a purchase whose buyer was forgotten, and that has another owner by now.
struct ForgottenBuyerTests {
    /// `what user` of each statement about the purchase, by one part of the interface.
    private enum Part: String, CaseIterable {
        case effect = "SELECT kind, user_id FROM appstore.effects"
        case feed = "SELECT replace(type, 'effect.', ''), user_id FROM appstore.feed WHERE type LIKE 'effect.%'"
        case request = "SELECT state, user_id FROM appstore.consumption_requests"
    }

    private func users(_ part: Part, in scene: WorkerScene) async throws -> [String] {
        try await scene.database.lines(
            """
            SELECT concat_ws(' ', f.what, CASE WHEN appstore.is_forgotten(f.user_id) THEN 'alias' ELSE f.user_id END)
            FROM (\(unsafeRaw: part.rawValue)) AS f (what, user_id) ORDER BY 1
            """
        )
    }

    @Test(arguments: [true, false])
    func `a refund and a question of Apple's about a lifetime product name the user who claimed it next`(isOrdered: Bool) async throws {
        try await WorkerScene.with { scene in
            try await scene.run("SELECT appstore.enable_feed()")
            let token = isOrdered ? try await scene.order("lifetime", by: "anna") : nil
            let bought = Sale("lifetime", .nonConsumable, "1000", onDay: -200, token: token)
            if isOrdered { try await scene.notify(.oneTimeCharge, of: bought) } else { try await scene.post(bought, by: "anna") }
            try await scene.run("SELECT appstore.forget('anna')")
            let remark = try await scene.post(bought.signed(onDay: -150), by: "berta", onDay: 1)
            #expect(remark.hasSuffix("former_owner_forgotten"))
            try await scene.notify(.consumptionRequest, of: bought.signed(onDay: -0.2))
            #expect(try await users(.request, in: scene) == ["waiting berta"])
            let key = try await scene.database.makeAPIKey()
            let requests: Statement = "SELECT r::jsonb ->> 'user' FROM appstore.api_consumption(\(key), 'Production', NULL, NULL, 9) AS r"
            #expect(try await scene.database.lines(requests) == ["berta"])
            let charges: Statement = "SELECT owner FROM appstore.api_receipt_charges(\(key), 'Production', ARRAY['1000'], 'berta')"
            #expect(try await scene.database.lines(charges) == ["you"])
            try await scene.notify(.refund, of: bought.refunded(onDay: -0.1))
            let told = ["consumption_asked berta", "granted alias", "refunded berta"]
            #expect(try await users(.effect, in: scene) == told)
            #expect(try await users(.feed, in: scene) == told)
        }
    }

    @Test func `what a renewal register and an answer say of a forgotten user's period names the user who was linked next`() async throws {
        try await WorkerScene.with { scene in
            let token = try await scene.order("pro.monthly", by: "anna")
            let month = Sale("pro.monthly", "1000", onDay: -20, token: token)
            try await scene.notify(.subscribed, .initialBuy, of: month)
            try await scene.run("SELECT appstore.forget('anna')")
            try await scene.run("SELECT appstore.link_owner('Production', '1000', 'berta')")
            let ending = month.with {
                $0.renewal?.autoRenews = false
                $0.signedDay = -2
            }
            try await scene.notify(.didChangeRenewalStatus, .autoRenewDisabled, of: ending)
            try await scene.learn(month.expired(onDay: -1, .other), by: .statusAnswer, as: .expired)
            #expect(try await users(.effect, in: scene) == ["granted alias", "status_found berta", "will_not_renew berta"])
        }
    }

    @Test func `nothing is said of a consumable's user but the alias`() async throws {
        try await WorkerScene.with { scene in
            let coins = Sale("coins", .consumable, "1000", onDay: -2, token: try await scene.order("coins", by: "anna"))
            try await scene.notify(.oneTimeCharge, of: coins)
            try await scene.run("SELECT appstore.forget('anna')")
            try await scene.notify(.refund, of: coins.refunded(onDay: -1))
            #expect(try await users(.effect, in: scene) == ["granted alias", "refunded alias"])
        }
    }
}

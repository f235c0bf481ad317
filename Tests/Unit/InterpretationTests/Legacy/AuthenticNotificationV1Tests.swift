import AppStore
import Interpretation
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// The app and environment of a notification V1: body and receipt must agree, and both must be configured.
struct AuthenticNotificationV1Tests {
    private static let other = SimulatedApp(bundleID: "com.example.other", appAppleID: 7, environment: .production)

    private static func refusal(_ fixture: LegacyFixture, _ change: SignedScene.Change) throws -> AuthenticNotificationV1.Refusal? {
        do {
            _ = try SignedScene.authentic(fixture.notification(.didRenew, change))
            return nil
        } catch let refusal as AuthenticNotificationV1.Refusal {
            return refusal
        }
    }

    private static func unnamed(_ member: String) -> SignedScene.Change {
        { body in
            body[member] = nil
            body.change("unified_receipt") { $0[member] = nil }
        }
    }

    @Test func `the body or the receipt names the environment`() throws {
        let (production, sandbox) = (try LegacyFixture(), try LegacyFixture(SignedScene.sandboxApp))
        #expect(try Self.refusal(production, { _ in }) == nil)
        #expect(try Self.refusal(sandbox, Self.unnamed("environment")) == nil)
        let notification = try SignedScene.authentic(sandbox.notification(.didRenew, Self.unnamed("environment")))
        #expect(notification.environment == .sandbox)
        for name in ["PROD", "Production"] {
            let body = try production.notification(.didRenew) { $0["environment"] = .string(name) }
            #expect(try SignedScene.authentic(body).environment == .production)
        }
        #expect(
            try Self.refusal(
                production,
                { body in
                    body["environment"] = nil
                    body["unified_receipt"] = nil
                }
            ) == .environmentMissing
        )
        #expect(try Self.refusal(production, { $0["environment"] = "Xcode" }) == .wrongEnvironment)
        #expect(try Self.refusal(production, { $0["environment"] = "Sandbox" }) == .environmentMismatch)
        #expect(try Self.refusal(sandbox, { $0["environment"] = "PROD" }) == .environmentMismatch)
    }

    @Test func `the body or the receipt names the app, which is configured`() throws {
        let (mine, foreign) = (try LegacyFixture(), try LegacyFixture(Self.other))
        #expect(try SignedScene.authentic(mine.notification(.didRenew, Self.unnamed("bid"))).bundleID == SignedScene.app.bundleID)
        #expect(
            try Self.refusal(
                mine,
                { body in
                    body["bid"] = nil
                    body["unified_receipt"] = ["environment": "Production"]
                }
            ) == .bundleMissing
        )
        #expect(try Self.refusal(mine, { $0["bid"] = "com.example.other" }) == .wrongBundle)
        #expect(try Self.refusal(foreign, { _ in }) == .wrongBundle)
        #expect(try Self.refusal(foreign, Self.unnamed("bid")) == .wrongBundle)
        #expect(try Self.refusal(foreign, { $0["bid"] = .string(SignedScene.app.bundleID) }) == .bundleMismatch)
    }

    /// Until 2019 there was no outer `bid`, and no receipt that can be verified here.
    @Test(arguments: ["latest_receipt_info", "latest_expired_receipt_info"])
    func `the purchase in an old body names the app`(member: String) throws {
        func body(of bundleID: String) -> JSONObject {
            [
                "notification_type": "CANCEL", "environment": "PROD", "latest_receipt": "ewoJInNpZ25hdHVyZSIgPSAiQSI7Cn0=",
                "auto_renew_status": "false", "auto_renew_product_id": "plus",
                member: ["bid": .string(bundleID), "original_transaction_id": "140000000000001", "transaction_id": "140000000000002"],
            ]
        }
        let notification = try SignedScene.authentic(body(of: SignedScene.app.bundleID))
        #expect(notification.bundleID == SignedScene.app.bundleID && notification.environment == .production)
        #expect(throws: AuthenticNotificationV1.Refusal.wrongBundle) { try SignedScene.authentic(body(of: "com.example.other")) }
    }

    @Test func `a receipt of another app than the purchase names is refused`() throws {
        let fixture = try LegacyFixture(Self.other)
        let change: SignedScene.Change = { body in
            body["bid"] = nil
            body["latest_receipt_info"] = ["bid": .string(SignedScene.app.bundleID)]
        }
        #expect(try Self.refusal(fixture, change) == .bundleMismatch)
        // A list is no purchase of the old form: it does not decide which app's secret applies.
        let list: SignedScene.Change = { body in
            body["bid"] = nil
            body["unified_receipt"] = nil
            body["latest_receipt_info"] = [["bid": .string(SignedScene.app.bundleID)]]
        }
        #expect(try Self.refusal(LegacyFixture(), list) == .bundleMissing)
    }

    @Test func `an unverified receipt proves neither app nor environment`() throws {
        let fixture = try LegacyFixture()
        let change: SignedScene.Change = { body in
            body["bid"] = nil
            body.change("unified_receipt") { $0["latest_receipt"] = "AAAA" }
        }
        #expect(try Self.refusal(fixture, change) == .bundleMissing)
    }
}

import AppStore
import AppStoreVerification
import Interpretation
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// What effects tell beside a charge and its contract.
struct NoticeTests {
    private static func facts(_ kind: NotificationKind, app: SimulatedApp = SignedScene.app, _ outer: SignedScene.Change = { _ in }) throws
        -> EventFacts
    {
        try SignedScene.facts(of: SignedScene.sign(SignedScene.trigger(kind, app: app).notification(), outer: outer))
    }

    /// Changes members of an object in a payload.
    private static func changing(_ object: String, _ members: [(String, JSONValue?)]) -> SignedScene.Change {
        { outer in
            guard case .object(var content)? = outer[object] else { return }
            for (name, value) in members { content[name] = value }
            outer[object] = .object(content)
        }
    }

    private static func details(_ facts: EventFacts, _ kind: EffectKind) throws -> JSONObject? {
        try #require(facts.effects.first { $0.key.kind == kind }).details
    }

    private static let day: Int64 = 86_400_000

    @Test func `a token for outside purchases tells when it must be reported: ten days after it was made, or when it expires`() throws {
        let created: Int64 = 1_767_225_600_000
        let token = Self.changing("externalPurchaseToken", [("externalPurchaseId", "t1"), ("tokenCreationDate", .integer(created))])
        let plain = try Self.facts(NotificationKind(.externalPurchaseToken, .unreported), token)
        #expect(
            try Self.details(plain, .externalPurchaseToken) == [
                "id": "t1", "created_at": "2026-01-01T00:00:00.000Z", "report_by": "2026-01-11T00:00:00.000Z", "subtype": "UNREPORTED",
            ]
        )
        let custom = try Self.facts(NotificationKind(.externalPurchaseToken, .created)) {
            token(&$0)
            Self.changing(
                "externalPurchaseToken",
                [("tokenType", "SERVICES"), ("tokenExpirationDate", .integer(created + 365 * Self.day))]
            )(&$0)
        }
        #expect(
            try Self.details(custom, .externalPurchaseToken) == [
                "id": "t1", "type": "SERVICES", "created_at": "2026-01-01T00:00:00.000Z", "expires_at": "2027-01-01T00:00:00.000Z",
                "report_by": "2027-01-01T00:00:00.000Z", "subtype": "CREATED",
            ]
        )
    }

    @Test func `the result of an extension tells its counts and its product`() throws {
        let summary = Self.changing(
            "summary",
            [
                ("requestIdentifier", "r1"), ("productId", "pro.monthly"), ("storefrontCountryCodes", ["USA", "FRA"]),
                ("succeededCount", 7), ("failedCount", 2),
            ]
        )
        let facts = try Self.facts(NotificationKind(.renewalExtension, .summary), summary)
        #expect(
            try Self.details(facts, .extensionCompleted) == [
                "request_identifier": "r1", "product_id": "pro.monthly", "storefronts": ["USA", "FRA"], "succeeded": 7, "failed": 2,
            ]
        )
        #expect(facts.effects[0].productID == "pro.monthly" && facts.effects[0].bundleID == SignedScene.app.bundleID)
    }

    @Test func `a rescinded consent tells the download of the app, which is the way to the person`() throws {
        let notification = try SignedScene.trigger(NotificationKind(.rescindConsent)).notification()
        guard case .appData(let download) = notification.content else { return }
        let facts = try SignedScene.facts(of: notification)
        let id = try #require(download.payload(of: SignedScene.app)["appTransactionId"])
        #expect(try Self.details(facts, .consentRescinded) == ["app_transaction_id": id])
        #expect(facts.effects[0].originalTransactionID == nil && facts.effects[0].bundleID == SignedScene.app.bundleID)
    }

    @Test func `unclaimed seats tell their claims in lower case, and the contract if there is a transaction`() throws {
        let id = "0A1B2C3D-4E5F-4A6B-8C7D-8E9FA0B1C2D3"
        let ids = Self.changing("unclaimInfo", [("unclaimSeatIds", [.string(id)])])
        let facts = try Self.facts(NotificationKind(.unclaimSeats), ids)
        let effect = try #require(facts.effects.first { $0.key.kind == .seatsUnclaimed })
        #expect(effect.details == ["seat_claim_ids": [.string(id.lowercased())]])
        #expect(effect.originalTransactionID != nil && effect.transactionID != nil && effect.bundleID == nil)
        let bare = try Self.facts(NotificationKind(.unclaimSeats)) {
            ids(&$0)
            $0["data"] = ["environment": "Production", "bundleId": .string(SignedScene.app.bundleID), "appAppleId": 42]
        }
        #expect(bare.effects.map(\.key.kind) == [.seatsUnclaimed] && bare.effects[0].originalTransactionID == nil)
        #expect(bare.effects[0].bundleID == SignedScene.app.bundleID && bare.effects[0].details == effect.details)
    }

    @Test func `a change of seats tells how many will renew, and a migration the contract before`() throws {
        let seats = try SignedScene.facts(
            of: SignedScene.sign(
                SignedScene.trigger(NotificationKind(.didChangeRenewalPref, .decreaseQuantity)).notification(),
                renewalInfo: { $0["renewalQuantity"] = 4 }
            )
        )
        #expect(try Self.details(seats, .seatsChanged) == ["subtype": "DECREASE_QUANTITY", "renewal_quantity": 4])
        let migration = try SignedScene.trigger(NotificationKind(.migration)).notification()
        #expect(try Self.details(SignedScene.facts(of: migration), .migrated) == nil)
        let moved = try SignedScene.sign(migration, transaction: { $0["previousOriginalTransactionId"] = "1000" })
        #expect(try Self.details(SignedScene.facts(of: moved), .migrated) == ["previous_original_transaction_id": "1000"])
    }

    @Test(
        arguments: [
            (NotificationKind(.unclaimSeats), "unclaimInfo", "unclaimSeatIds", ["no UUID"], "unclaimInfo.unclaimSeatIds[]"),
            (NotificationKind(.unclaimSeats), "unclaimInfo", "unclaimSeatIds", 7, "unclaimInfo.unclaimSeatIds"),
            (
                NotificationKind(.externalPurchaseToken, .created), "externalPurchaseToken", "tokenCreationDate", "today",
                "externalPurchaseToken.tokenCreationDate"
            ),
            (NotificationKind(.renewalExtension, .summary), "summary", "failedCount", "none", "summary.failedCount"),
        ] as [(NotificationKind, String, String, JSONValue, String)]
    )
    func `an effect is not written without details that it has: a later version may read them`(
        kind: NotificationKind,
        object: String,
        member: String,
        value: JSONValue,
        place: String
    ) throws {
        let facts = try Self.facts(kind, Self.changing(object, [(member, value)]))
        #expect(facts.unhandledReason == "unreadable_member:\(place)")
        #expect(facts.effects.allSatisfy { $0.key.kind == .granted })
        // A member that it does not tell is none of its details.
        #expect(try Self.facts(kind, Self.changing(object, [("other", value)])).unhandledReason == nil)
    }

    @Test(arguments: ["data", "appData", "unclaimInfo"])
    func `UNCLAIM_SEATS may name its app in any of these places`(place: String) throws {
        let app: JSONObject = ["environment": "Sandbox", "bundleId": .string(SignedScene.app.bundleID)]
        let jws = try Self.unclaiming { outer in
            var content: JSONObject = if case .object(let object)? = outer[place] { object } else { [:] }
            for member in app.members { content[member.name] = member.value }
            outer[place] = .object(content)
        }
        let verified = try SignedScene.verify(jws)
        #expect(verified.environment == .sandbox && verified.bundleID == SignedScene.app.bundleID)
        let reading = try Self.read(jws)
        #expect(reading.labels.environment == "Sandbox" && reading.labels.bundleID == SignedScene.app.bundleID)
        #expect(try reading.result.get().effects.map(\.key.kind) == [.seatsUnclaimed])
    }

    @Test func `UNCLAIM_SEATS that names no environment or app where this version looks is kept for a later one`() throws {
        for member in ["environment", "bundleId", "appAppleId"] {
            var app: JSONObject = ["environment": "Production", "bundleId": .string(SignedScene.app.bundleID), "appAppleId": 42]
            app[member] = nil
            let reading = try Self.read(Self.unclaiming { $0["data"] = .object(app) })
            guard case .failure(let refusal) = reading.result else {
                Issue.record("read without \(member)")
                continue
            }
            #expect(refusal == .unreadable("unclaimInfo"), "\(member)")
            #expect(reading.labels.notificationType == "UNCLAIM_SEATS" && reading.labels.oddMembers == ["unclaimInfo"])
        }
        // Without the object, too.
        let bare = try Self.read(Self.unclaiming { $0["unclaimInfo"] = nil })
        #expect(throws: EventRefusal.unreadable("unclaimInfo")) { try bare.result.get() }
        // What it names and is wrong is a reason to reject.
        let foreign = try Self.read(Self.unclaiming { $0["data"] = ["environment": "Production", "bundleId": "com.example.other"] })
        #expect(throws: EventRefusal.self) { try foreign.result.get() }
        if case .failure(let refusal) = foreign.result { #expect(refusal.kind == .rejected && refusal.reason == "wrong_bundle") }
    }

    /// UNCLAIM_SEATS that has claims and names no app.
    private static func unclaiming(_ change: SignedScene.Change) throws -> [UInt8] {
        try SignedScene.sign(
            SignedScene.trigger(NotificationKind(.unclaimSeats)).notification(),
            outer: {
                $0["data"] = nil
                $0["unclaimInfo"] = ["unclaimSeatIds": ["0a1b2c3d-4e5f-4a6b-8c7d-8e9fa0b1c2d3"]]
                change(&$0)
            }
        )
    }

    private static func read(_ jws: [UInt8]) throws -> EventReading {
        let body = JSONSerializer.serialize(["signedPayload": .string(String(decoding: jws, as: UTF8.self))] as JSONObject)
        let reader = EventReader(verifier: try SignedScene.verifier(), receipts: try SignedScene.receiptVerifier())
        return reader.read(
            InboxEvent(id: 7, source: .notificationV2, body: body, receivedAt: SignedScene.now, readAt: SignedScene.now)
        )
    }
}

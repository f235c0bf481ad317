import AppStore
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// The renewals in a body, which receipts do not hold: each with its own version, one for each named contract.
struct NotificationV1RenewalTests {
    private static let changed = SignedScene.now.advanced(by: .seconds(-500))

    @Test func `each entry is a fact, with the receipt's date if the body has none`() throws {
        let fixture = try LegacyFixture()
        let facts = try SignedScene.facts(
            ofV1: fixture.notification(.didChangeRenewalPref) { body in
                body.change("unified_receipt") { unified in
                    unified["pending_renewal_info"] = [
                        ["original_transaction_id": "11", "auto_renew_status": "0"],
                        ["original_transaction_id": 12, "auto_renew_status": 1],
                        ["auto_renew_status": "1"],
                    ]
                }
            }
        ).legacyRenewals
        #expect(facts.map(\.contract.id) == ["11", "12"] && facts.map(\.renewal.autoRenewStatus) == [.off, .on])
        #expect(facts.allSatisfy { $0.version.signedDate == fixture.madeAt && $0.provenance == .notificationV1 })
    }

    @Test(arguments: ["auto_renew_status_change_date_ms", "auto_renew_status_change_date"])
    func `a fact is as new as its change, or as the receipt if that is newer`(member: String) throws {
        var fixture = try LegacyFixture()
        func fact() throws -> V1RenewalFact {
            let body = try fixture.notification(.didChangeRenewalStatus) { $0[member] = .string("\(Self.changed.millisecondsSince1970)") }
            return try #require(try SignedScene.facts(ofV1: body).legacyRenewals.first)
        }
        fixture.madeAt = Self.changed.advanced(by: .seconds(-60))
        let earlier = try fact()
        fixture.madeAt = Self.changed.advanced(by: .seconds(-30))
        fixture.renewals[0].autoRenews = false
        let later = try fact()
        #expect(earlier.version.signedDate == Self.changed && later.version.signedDate == Self.changed && earlier.version < later.version)
        fixture.madeAt = Self.changed.advanced(by: .seconds(30))
        #expect(try fact().version.signedDate == fixture.madeAt)
    }

    @Test func `a change dated in the future is ignored`() throws {
        let fixture = try LegacyFixture()
        let fact = try SignedScene.facts(
            ofV1: fixture.notification(.didChangeRenewalStatus) { $0["auto_renew_status_change_date_ms"] = "253402300799000" }
        ).legacyRenewals.first
        #expect(fact?.version.signedDate == fixture.madeAt)
    }

    /// Which contract the outer members are about.
    @Test func `without entries the outer members are one fact, if only one contract can be meant`() throws {
        let fixture = try LegacyFixture()
        let contract = fixture.transactions[0].originalTransactionID
        func renewal(_ change: SignedScene.Change) throws -> [String] {
            try SignedScene.facts(
                ofV1: fixture.notification(.didChangeRenewalStatus) { body in
                    body.change("unified_receipt") { $0["pending_renewal_info"] = nil }
                    body["auto_renew_status_change_date_ms"] = .string("\(Self.changed.millisecondsSince1970)")
                    change(&body)
                }
            ).legacyRenewals.map { "\($0.contract.id) \($0.renewal.autoRenewStatus?.rawValue ?? 9)" }
        }
        #expect(try renewal { $0["original_transaction_id"] = "77" } == ["77 1"])
        #expect(try renewal { _ in } == ["\(contract) 1"])
        let old = { (body: inout JSONObject) in
            body["unified_receipt"] = nil
            body["latest_receipt_info"] = ["original_transaction_id": "88", "product_id": "plus"]
        }
        #expect(try renewal(old) == ["88 1"])
        #expect(try renewal { $0["unified_receipt"] = nil } == [])
        #expect(
            try renewal { body in
                body.change("unified_receipt") { unified in
                    unified["latest_receipt"] = nil
                    unified.changeEach("latest_receipt_info") { $0["original_transaction_id"] = $0["transaction_id"] }
                }
            } == []
        )
        #expect(try renewal { ($0["auto_renew_status"], $0["auto_renew_product_id"]) = (nil, nil) } == [])
    }

    /// Any configured app's secret is accepted for such a body: only Apple's signature proves its contracts.
    @Test func `a body without an app is trusted only about contracts in its receipt`() throws {
        let fixture = try LegacyFixture()
        let own = fixture.transactions[0].originalTransactionID
        func facts(_ entries: [JSONValue], _ outer: [String: JSONValue] = [:]) throws -> EventFacts {
            try SignedScene.facts(
                ofV1: fixture.notification(.didChangeRenewalStatus) { body in
                    for member in ["bid", "auto_renew_status", "auto_renew_product_id"] { body[member] = nil }
                    for (name, value) in outer { body[name] = value }
                    body.change("unified_receipt") { $0["pending_renewal_info"] = .array(entries) }
                }
            )
        }
        let mine: JSONValue = ["original_transaction_id": .string(own), "auto_renew_product_id": "a", "auto_renew_status": "0"]
        let theirs: JSONValue = ["original_transaction_id": "11", "auto_renew_product_id": "b", "auto_renew_status": "0"]
        let both = try facts([mine, theirs])
        #expect(both.legacyRenewals.map(\.contract.id) == [own] && both.remark == "renewal_not_in_receipt")
        #expect(both.legacyRenewals.map(\.key.bundleID) == [SignedScene.app.bundleID])
        #expect(try facts([mine]).others.map(\.originalTransactionID) == [own])
        #expect(try facts([theirs]).others.isEmpty && facts([theirs]).legacyRenewals.isEmpty)
        #expect(try facts([mine, theirs], ["auto_renew_product_id": "b"]).others.isEmpty)
        #expect(try facts([mine], ["original_transaction_id": "11"]).others.isEmpty)
        #expect(try facts([mine], ["bid": .string(SignedScene.app.bundleID)]).remark == nil)
    }

    @Test func `a body without an app does not decide the kind of a cancellation in its receipt`() throws {
        let fixture = try LegacyFixture { life in _ = try life.refund() }
        for (bid, upgrades) in [(JSONValue.string(SignedScene.app.bundleID), 1), (nil, 0)] {
            let facts = try SignedScene.facts(
                ofV1: fixture.notification(.refund) { body in
                    body["bid"] = bid
                    body.change("unified_receipt") { $0.changeEach("latest_receipt_info") { $0["is_upgraded"] = "true" } }
                }
            )
            #expect(facts.receipts.filter(\.content.isUpgraded).count == upgrades)
        }
    }

    @Test func `without any date there is no fact, and no effect`() throws {
        let facts = try SignedScene.facts(
            ofV1: LegacyFixture().notification(.didChangeRenewalStatus) { body in
                body.change("unified_receipt") { $0["latest_receipt"] = nil }
            }
        )
        #expect(facts.legacyRenewals.isEmpty && facts.others.isEmpty && facts.unhandledReason == "receipt:missing")
    }

    @Test func `with a date of its own, the renewal does not need the receipt`() throws {
        let facts = try SignedScene.facts(
            ofV1: LegacyFixture().notification(.didChangeRenewalStatus) { body in
                body["auto_renew_status_change_date_ms"] = .string("\(Self.changed.millisecondsSince1970)")
                body.change("unified_receipt") { $0["latest_receipt"] = "AAAA" }
            }
        )
        #expect(facts.legacyRenewals.map(\.version.signedDate) == [Self.changed])
        #expect(facts.others.map(\.key.kind) == [.willRenew] && facts.others.map(\.occurredAt) == [Self.changed])
        #expect(facts.unhandledReason == "receipt:not_a_receipt" && facts.receipts.isEmpty && facts.money.isEmpty)
    }

    @Test func `the body selects one of two contracts by its id, its plan, or a failed charge`() throws {
        let fixture = try LegacyFixture()
        func effect(_ type: NotificationTypeV1, _ outer: [String: JSONValue]) throws -> [String] {
            let facts = try SignedScene.facts(
                ofV1: fixture.notification(type) { body in
                    (body["auto_renew_status"], body["auto_renew_product_id"]) = (nil, nil)
                    for (name, value) in outer { body[name] = value }
                    body.change("unified_receipt") { unified in
                        unified["pending_renewal_info"] = [
                            ["original_transaction_id": "11", "auto_renew_product_id": "a", "product_id": "a", "auto_renew_status": "1"],
                            [
                                "original_transaction_id": "12", "auto_renew_product_id": "b", "product_id": "b", "auto_renew_status": "0",
                                "is_in_billing_retry_period": "1", "grace_period_expires_date_ms": "1800000000000",
                            ],
                        ]
                    }
                }
            )
            return facts.others.map { "\($0.key.kind.rawValue) \($0.originalTransactionID ?? "-") \($0.productID ?? "-")" }
        }
        #expect(try effect(.didChangeRenewalStatus, ["original_transaction_id": "12"]) == ["will_not_renew 12 b"])
        #expect(try effect(.didChangeRenewalStatus, ["auto_renew_product_id": "b"]) == ["will_not_renew 12 b"])
        #expect(try effect(.didChangeRenewalStatus, ["auto_renew_status": "false"]) == ["will_not_renew - -"])
        #expect(try effect(.didFailToRenew, [:]) == ["grace_period_started 12 b"])
        #expect(try effect(.didFailToRenew, ["original_transaction_id": "11"]) == ["billing_retry_started 11 a"])
    }
}

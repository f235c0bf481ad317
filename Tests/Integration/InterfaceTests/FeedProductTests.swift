import Foundation
import InboxTesting
import Postgres
import Testing

/// A change of `products` changes access without a change of the ledger.
struct FeedProductTests {
    private static let today = (Date.now.timeIntervalSince1970 - 1_767_225_600) / 86_400

    /// Two contracts of users, of which the first one's product is listed, and one without a user.
    private static func with(_ body: (TestLedger) async throws -> Void) async throws {
        try await TestLedger.with { ledger in
            try await ledger.run("SELECT appstore.enable_feed()", as: "appstore_operator")
            try await ledger.run(
                "INSERT INTO appstore.products VALUES ('com.example.app', 'pro.monthly', 'pro', NULL)",
                as: "appstore_operator"
            )
            for (contract, product) in ["1000": "pro.monthly", "2000": "basic"] {
                let order = UUID()
                try await ledger.makeOrder(order, user: "user \(contract)", product: product)
                try await ledger.put(
                    Charge(contract, onDay: today - 1, token: order).with { ($0.contract, $0.product) = (contract, product) }
                )
            }
            try await ledger.put(Charge("3000", onDay: today - 1).with { $0.contract = "3000" })
            _ = try await ledger.told()
            try await body(ledger)
        }
    }

    @Test func `the contracts of a product are told when its entitlements change, and no others`() async throws {
        try await Self.with { ledger in
            try await ledger.run(
                "INSERT INTO appstore.products VALUES ('com.example.app', 'pro.monthly', 'extra', NULL)",
                as: "appstore_operator"
            )
            #expect(try await ledger.lines("SELECT ref FROM appstore.tells") == ["1000"])
            #expect(try await ledger.told() == ["access.changed user 1000 extra true active"])
            try await ledger.run("UPDATE appstore.products SET entitlement = 'gold' WHERE entitlement = 'extra'", as: "appstore_operator")
            #expect(
                try await ledger.told() == [
                    "access.changed user 1000 extra false plan_changed", "access.changed user 1000 gold true active",
                ]
            )
            try await ledger.run("DELETE FROM appstore.products WHERE entitlement = 'gold'", as: "appstore_operator")
            #expect(try await ledger.told() == ["access.changed user 1000 gold false plan_changed"])
            try await ledger.run("UPDATE appstore.products SET product_id = 'basic'", as: "appstore_operator")
            #expect(
                try await ledger.told() == [
                    "access.changed user 1000 pro false plan_changed", "access.changed user 1000 pro.monthly true active",
                    "access.changed user 2000 basic false plan_changed", "access.changed user 2000 pro true active",
                ]
            )
            #expect(try await ledger.database.feedViolations() == [])
        }
    }

    @Test func `a purchase that is merged while products change is told as they are afterwards`() async throws {
        try await Self.with { ledger in
            let order = UUID()
            try await ledger.makeOrder(order, user: "late", product: "pro.monthly")
            try await ledger.database.withConnection(user: "appstore_operator") { connection in
                try await connection.withTransaction { change in
                    _ = try await change.execute("UPDATE appstore.products SET entitlement = 'gold'")
                    try await ledger.put(Charge("4000", onDay: Self.today - 1, token: order).with { $0.contract = "4000" })
                    #expect(try await ledger.told() == [], "steps wait for the commit")
                }
            }
            #expect(try await ledger.told().contains("access.changed late gold true active"))
            #expect(try await ledger.database.feedViolations() == [])
        }
    }

    @Test func `nothing is told where the feed is off, or no row changes`() async throws {
        try await Self.with { ledger in
            try await ledger.run("UPDATE appstore.products SET entitlement = 'x' WHERE product_id = 'unknown'", as: "appstore_operator")
            try await ledger.run("SELECT appstore.disable_feed()", as: "appstore_operator")
            try await ledger.run("UPDATE appstore.products SET entitlement = 'x'", as: "appstore_operator")
            #expect(try await ledger.lines("SELECT ref FROM appstore.tells") == [])
        }
    }
}

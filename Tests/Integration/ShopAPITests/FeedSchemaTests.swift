import Feed
import Foundation
import InboxTesting
import Postgres
import Testing

@testable import ShopAPI

/// The schemas of entries: complete, true, and never narrower than before.
@Suite(.timeLimit(.minutes(2)))
struct FeedSchemaTests {
    /// The members of each type as they were described when they were written here: types with equal members in a line, and below it a line for
    /// each member. `FEED_MEMBERS=write` writes those of now.
    private static let promised = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "feed-members.txt")

    private static func members(of type: String, in description: APIDescription = .served) -> [String] {
        FeedSchema(type, in: description)?.members ?? []
    }

    /// The lines of members that the description lacks, each after its type.
    private static func missing(in description: APIDescription = .served) throws -> [String] {
        var types: [(name: String, members: Set<String>)] = []
        return try String(contentsOf: promised, encoding: .utf8).split(separator: "\n").flatMap { line -> [String] in
            guard line.hasPrefix("  ") else {
                types = line.split(separator: " ").map { (String($0), Set(members(of: String($0), in: description))) }
                return []
            }
            let member = String(line.dropFirst(2))
            return types.filter { !$0.members.contains(member) }.map { "\($0.name) \(member)" }
        }
    }

    private static func write() throws {
        var groups: [(types: [String], members: [String])] = []
        for type in FeedType.all {
            let members = members(of: type)
            if let same = groups.firstIndex(where: { $0.members == members }) {
                groups[same].types.append(type)
            } else {
                groups.append(([type], members))
            }
        }
        let lines = groups.flatMap { [$0.types.joined(separator: " ")] + $0.members.map { "  \($0)" } }
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: promised)
    }

    @Test func `each type has a schema and its name, and nothing else has`() {
        #expect(APIDescription.served.root["webhooks"]?.names == FeedType.all)
    }

    @Test func `no member is removed, or gets another type, or may be absent from now on`() throws {
        if ProcessInfo.processInfo.environment["FEED_MEMBERS"] == "write" { try Self.write() }
        #expect(try Self.missing() == [])
    }

    @Test func `the guard accepts an addition, and refuses a removal and another type`() throws {
        let text = OpenAPI.text
        let entitlement = #""entitlement": {"type": "string"}"#
        let added = text.replacing(entitlement, with: #""entitlement": {"type": "string"}, "added": {"type": "string"}"#)
        #expect(added != text)
        #expect(try Self.missing(in: APIDescription(added)) == [])
        let changed = text.replacing(#""active": {"type": "boolean"}"#, with: #""active": {"type": "string"}"#)
        #expect(try Self.missing(in: APIDescription(changed)).contains("access.changed data.active boolean required"))
        let removed = text.replacing(#""evidence": {"#, with: #""proof": {"#)
        #expect(try Self.missing(in: APIDescription(removed)).contains("owner.changed data.evidence null|object required"))
    }

    @Test func `the entries of orders, access, owners, effects, failures and erasure are as described`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            try await Self.live(api, key)
            let answer = try await api.exchange(
                "GET",
                "/v1/feed?limit=1000&types=effect.*,access.*,owner.*,order.*,user.*,inbox.*",
                key: key
            )
            let entries = try answer.json()["events"]?.elements ?? []
            for entry in entries {
                let schema = try #require(FeedSchema(entry["type"]?.text ?? ""))
                #expect(schema.violations(of: entry) == [], "\(entry)")
            }
            #expect(
                Set(entries.compactMap { $0["type"]?.text }) == [
                    "effect.granted", "effect.expired", "effect.seats_unclaimed", "effect.seats_changed", "effect.consent_rescinded",
                    "effect.external_purchase_token", "effect.migrated", "effect.extension_completed", "access.changed", "owner.changed",
                    "order.paid", "order.refunded", "user.forgotten", "inbox.failed",
                ]
            )
            #expect(entries.contains { $0["data"]?["renewal"]?["status"] != nil && $0["data"]?["order"]?["no"] != nil })
        }
    }

    @Test func `the examples are as described`() throws {
        let schemas = try #require(APIDescription.served.root["components"]?["schemas"])
        let entries =
            (schemas["FeedEvent"]?["examples"]?.elements ?? []) + (schemas["FeedPage"]?["examples"]?.elements[0]["events"]?.elements ?? [])
        #expect(entries.count == 2)
        for entry in entries { #expect(FeedSchema(entry["type"]?.text ?? "")?.violations(of: entry) == []) }
    }

    /// Details of each kind that has some, with all members.
    private static let details = [
        ("seats_unclaimed", #"{"seat_claim_ids": ["0a1b2c3d-4e5f-4a6b-8c7d-8e9fa0b1c2d3"]}"#),
        ("seats_changed", #"{"subtype": "INCREASE_QUANTITY", "renewal_quantity": 7}"#),
        ("consent_rescinded", #"{"app_transaction_id": "704000000000000001"}"#),
        ("migrated", #"{"previous_original_transaction_id": "60"}"#),
        (
            "external_purchase_token",
            #"""
            {"id": "t1", "type": "SERVICES", "subtype": "UNREPORTED", "created_at": "2026-01-01T00:00:00.000Z",
             "expires_at": "2027-01-01T00:00:00.000Z", "report_by": "2027-01-01T00:00:00.000Z"}
            """#
        ),
        (
            "extension_completed",
            #"{"request_identifier": "r1", "product_id": "pro.monthly", "storefronts": ["USA"], "succeeded": 7, "failed": 2}"#
        ),
    ]

    /// An order, its purchase with an effect, another owner, a refund, the end, an event that fails, and a user who is forgotten.
    private static func live(_ api: RunningAPI, _ key: TestKey) async throws {
        let order = try await api.exchange("POST", "/v1/orders", key: key, json: #"{"user":"ann","product":"pro.monthly"}"#).json()
        let token = try #require(UUID(uuidString: order["orderNo"]?.text ?? ""))
        try await api.database.addCharge("70", token: token)
        try await api.database.change("UPDATE appstore.contracts SET status = 1, will_renew = true, auto_renew_product_id = 'pro.monthly'")
        for kind in ["granted", "expired"] {
            try await api.database.change(
                """
                INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, recorded_at,
                                                 original_transaction_id, transaction_id, product_id)
                SELECT gen_random_uuid(), 'Production', \(kind), 's', 1, now(), now(), '70', CASE \(kind) WHEN 'granted' THEN '70' END, 'pro.monthly'
                """
            )
        }
        for (kind, details) in details {
            try await api.database.change(
                """
                INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, recorded_at, bundle_id, details)
                VALUES (gen_random_uuid(), 'Production', \(kind), gen_random_uuid(), 1, now(), now(), 'com.example.app', \(details)::text::jsonb)
                """
            )
        }
        try await api.database.change(
            "INSERT INTO appstore.tells (kind, environment, ref) SELECT 'effect', e.environment, e.effect_id::text FROM appstore.effect_log AS e"
        )
        try await api.database.sequenceFeed()
        _ = try await api.exchange("PUT", "/v1/contracts/70/owner", key: key, json: #"{"user":"bob"}"#)
        try await api.database.sequenceFeed()
        try await api.database.change(
            "UPDATE appstore.transactions SET revocation_date = now(), revocation_reason = 0, revocation_percentage = 100000"
        )
        try await api.database.change("SELECT appstore.derive_ledger('Production', '{70}', '{70}')")
        let post = #"{"signedTransaction":"YQ.YQ.YQ","user":"ann"}"#
        let event = try await api.exchange("POST", "/v1/transactions", key: key, json: post).json()["event"]?.text ?? ""
        try await api.database.settle(event, "failed", reason: "killed_worker")
        try await api.database.change("INSERT INTO appstore.tells (kind, ref) VALUES ('failed', \(event))")
        try await api.database.change("SELECT appstore.forget('bob', 'ticket 43')")
        try await api.database.sequenceFeed()
    }
}

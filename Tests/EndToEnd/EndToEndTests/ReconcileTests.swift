import AppStore
import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator
import StoreSimulatorServer
import Testing

extension EndToEndInterfaces {
    /// The reconciliation by the built program, against a simulated App Store over TLS.
    @Suite struct ReconcileTests {
        private static let week: Duration = .seconds(7 * 86_400)

        /// Customers of a weekly plan whose first period ended two hours ago, with an order of a user each.
        private struct Customer {
            let user: String
            var life: CustomerLife
            let purchase: SimulatedNotification

            init(_ user: String, in shop: inout Shop, _ installation: Installation, now: Timestamp) async throws {
                self.user = user
                life = shop.makeCustomer()
                life.advance(to: now.advanced(by: .zero - ReconcileTests.week - .seconds(2 * 3600)))
                let plan = try #require(life.catalogue.plans.first { $0.period == .weeks(1) })
                let no = UUID()
                try await installation.sql.makeOrder(user: user, product: plan.id, no: no.uuidString.lowercased())
                purchase = try life.subscribe(to: plan, appAccountToken: no)
            }
        }

        @Test func `a renewal and an end that no notification told are asked for, and the late notifications double nothing`() async throws
        {
            try await Installation.lend { installation in
                try await installation.sql.execute("SELECT appstore.enable_feed()")
                try await AppleStore.with(installation) { store in
                    let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
                    var shop = try Shop(bundleID: AppleStore.bundleID, seed: 8)
                    var (anna, berta) = (
                        try await Customer("anna", in: &shop, installation, now: now),
                        try await Customer("berta", in: &shop, installation, now: now)
                    )
                    let ingest = try await installation.startIngest()
                    // 1. Both purchases are pushed. The worker that settles them asks nothing.
                    let first = try await installation.startWorker(store.settings.merging(["APPSTORE_INBOX_RECONCILE": "off"]) { $1 })
                    for customer in [anna, berta] { #expect(try await ingest.client.post(shop.body(customer.purchase)).status == 200) }
                    try await installation.sql.settled(2)
                    let before = try await Self.told(installation)
                    #expect(try await first.terminate() == .exit(0))
                    // As a week later: what was heard within the last 15 minutes is not asked about.
                    try await installation.sql.execute("UPDATE appstore.outcomes SET received_at = received_at - interval '7 days'")
                    #expect(try await Self.access(installation) == ["anna f expired", "berta f expired"])

                    // 2. Apple renewed the one and ended the other, and sent nothing.
                    let (renewed, ended) = (try anna.life.renew(), try berta.life.expire(.unnamed))
                    let lives = [anna.life, berta.life]
                    store.server.access { api in for life in lives { api.hold(life, at: now) } }

                    // 3. A worker asks by itself, once about each.
                    let worker = try await installation.startWorker(store.settings)
                    let events = try await installation.sql.settled(4)
                    #expect(events.map(\.outcome) == Array(repeating: "applied", count: 4), "\(events)")
                    #expect(
                        try await installation.sql.values("SELECT DISTINCT source FROM appstore.outcomes ORDER BY 1")
                            == ["notification_v2", "subscription_status"]
                    )
                    #expect(try await Self.access(installation) == ["anna t active", "berta f expired"])
                    #expect(
                        try await Self.contracts(installation) == [
                            "1 t \(lives[0].subscription?.expiresDate.millisecondsSince1970 ?? 0)",
                            "2 f \(lives[1].subscription?.expiresDate.millisecondsSince1970 ?? 0)",
                        ]
                    )
                    let found = try await Self.told(installation)
                    #expect(try await worker.terminate() == .exit(0))
                    #expect(
                        Self.new(found, since: before) == [
                            "access.changed anna", "effect granted anna", "effect status_found berta", "effect.granted anna",
                            "effect.status_found berta",
                        ],
                        "\(found)"
                    )

                    // 4. The next step finds what the answers changed, and asks no more.
                    let next = try await installation.startWorker(store.settings)
                    try await eventually("the questions have a result") {
                        try await Self.results(installation).allSatisfy { !$0.hasSuffix("open") }
                    }
                    // Of the one who has ended only the reason is new.
                    #expect(try await Self.results(installation) == ["anna expired_silent changed", "berta expired_silent same"])
                    #expect(store.server.calls.count { $0.endpoint == .subscriptionStatuses } == 2)

                    // 5. The notifications come after all. One has an effect of its own beside what was found; nothing is told again.
                    let books = try await Self.books(installation)
                    for late in [renewed, ended, renewed] { #expect(try await ingest.client.post(shop.body(late)).status == 200) }
                    let outcomes = try await installation.sql.settled(7).compactMap(\.outcome)
                    #expect(
                        outcomes.count { $0 == "duplicate" } == 1 && Set(outcomes).isSubset(of: ["applied", "superseded", "duplicate"]),
                        "\(outcomes)"
                    )
                    let late = try await Self.told(installation)
                    #expect(Self.new(late, since: found) == ["effect expired berta", "effect.expired berta"], "\(late)")
                    #expect(difference(books, try await Self.books(installation)) == [])
                    #expect(try await next.terminate() == .exit(0))
                    #expect(store.server.calls.allSatisfy { $0.flaw == nil })
                }
            }
        }

        private static func access(_ installation: Installation) async throws -> [String] {
            try await installation.sql.values("SELECT concat_ws(' ', user_id, active, why) FROM appstore.entitlements ORDER BY user_id")
        }

        private static func contracts(_ installation: Installation) async throws -> [String] {
            try await installation.sql.values(
                """
                SELECT concat_ws(' ', status, will_renew, (extract(epoch FROM current_period_end) * 1000)::bigint)
                FROM appstore.contracts ORDER BY user_id
                """
            )
        }

        /// The state of the contracts, and what was paid, as users see it.
        private static func books(_ installation: Installation) async throws -> [String] {
            try await installation.sql.values(
                """
                SELECT 'contract ' || to_jsonb(m)::text FROM appstore.contracts AS m
                UNION ALL SELECT 'entitlement ' || to_jsonb(e)::text FROM appstore.entitlements AS e
                UNION ALL SELECT 'order ' || to_jsonb(o)::text FROM appstore.orders AS o
                UNION ALL SELECT 'charge ' || concat_ws(' ', t.transaction_id, t.expires_date, t.revocation_date) FROM appstore.transactions AS t
                ORDER BY 1
                """
            )
        }

        private static func results(_ installation: Installation) async throws -> [String] {
            try await installation.sql.values(
                """
                SELECT concat_ws(' ', m.user_id, q.rule, coalesce(q.result, 'open')) FROM appstore.reconcile_questions AS q
                JOIN appstore.contracts AS m USING (environment, original_transaction_id) ORDER BY 1
                """
            )
        }

        /// The effects in the ledger and all entries of the feed, once the feed has all that was committed.
        private static func told(_ installation: Installation) async throws -> [String] {
            try await eventually("the feed is complete") {
                try await installation.sql.value(Bool.self, "SELECT NOT EXISTS (SELECT FROM appstore.tells)")
            }
            return try await installation.sql.values(
                """
                SELECT line FROM (
                    SELECT 'effect ' || e.kind || ' ' || e.user_id FROM appstore.effect_log AS e
                    UNION ALL SELECT f.type || ' ' || f.user_id FROM appstore.feed AS f
                ) AS told (line) ORDER BY line COLLATE "C"
                """
            )
        }

        private static func new(_ lines: [String], since before: [String]) -> [String] {
            lines.difference(from: before).insertions.compactMap { if case .insert(_, let line, _) = $0 { line } else { nil } }.sorted()
        }
    }
}

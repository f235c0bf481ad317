import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import Testing

/// A year that the customer has committed to and pays by the month.
struct CommitmentTests {
    /// The third of twelve months at 5.00, of a product that other customers pay by the year.
    private static let month = Sale("pro.yearly", "1002", of: "1000", onDay: -5, price: 5000).committed(month: 3, endingOn: 265)

    private static func list(_ scene: WorkerScene) async throws {
        try await scene.run(
            "INSERT INTO appstore.products (product_id, bundle_id, entitlement, duration) VALUES ('pro.yearly', \(SignedScene.app.bundleID), 'pro', 'P1Y')"
        )
    }

    @Test func `a month counts as a month, whatever the product's duration is`() async throws {
        try await WorkerScene.with { scene in
            try await Self.list(scene)
            try await scene.notify(.didRenew, of: Self.month)
            try await scene.notify(.subscribed, .initialBuy, of: Sale("pro.yearly", "2000", onDay: -5, until: 360, price: 60_000))
            #expect(
                try await scene.database.lines("SELECT concat_ws(' ', subscriptions, mrr) FROM appstore_reports.mrr()") == ["2 10.00"]
            )
            #expect(
                try await scene.database.lines(
                    "SELECT concat_ws(' ', store_transaction_id, product_duration) FROM appstore_reports.transactions ORDER BY 1"
                ) == ["1002 P1M", "2000 P1Y"]
            )
            #expect(try await scene.database.lines("SELECT product_duration FROM appstore_reports.retention() ORDER BY 1") == ["P1Y"])
        }
    }

    @Test func `retention goes by the months of a commitment`() async throws {
        try await WorkerScene.with { scene in
            try await Self.list(scene)
            for (month, day) in [-65.0, -35, -5].enumerated() {
                let sale = Sale("pro.yearly", "\(1000 + month)", of: "1000", onDay: day, price: 5000)
                try await scene.notify(month == 0 ? .subscribed : .didRenew, of: sale.committed(month: Int32(month) + 1, endingOn: 300))
            }
            #expect(
                try await scene.database.lines(
                    "SELECT concat_ws(' ', product_duration, period_number, retained) FROM appstore_reports.retention() ORDER BY 1"
                ) == ["P1M 0 1", "P1M 1 1", "P1M 2 1"]
            )
        }
    }

    /// The customer cancels: the remaining months are charged all the same.
    @Test func `a cancelled commitment renews to its end`() async throws {
        try await WorkerScene.with { scene in
            try await scene.notify(.didRenew, of: Self.month)
            #expect(try await scene.commitment() == ["t 265 9 t"])
            #expect(try await scene.renewals() == ["set_to_renew 1"])
            try await scene.notify(.didChangeRenewalStatus, of: Self.month.signed(onDay: -4).cancelled())
            #expect(try await scene.commitment() == ["t 265 9 f"])
            #expect(try await scene.renewals() == ["set_to_cancel 1"])
            let last = Sale("pro.yearly", "1011", of: "1000", onDay: -1, until: 29, price: 5000).committed(month: 12, endingOn: 29)
            try await scene.notify(.didRenew, of: last.cancelled())
            #expect(try await scene.commitment() == ["f 29 0 f"])
            #expect(try await scene.renewals() == ["set_to_cancel 1"])
        }
    }

    @Test func `a commitment is shown wherever the contract is`() async throws {
        try await WorkerScene.with { scene in
            try await scene.run("SELECT appstore.enable_feed()")
            try await scene.post(Self.month, by: "anna")
            try await scene.notify(.didChangeRenewalStatus, .autoRenewDisabled, of: Self.month.signed(onDay: -4).cancelled())
            #expect(
                try await scene.database.lines(
                    "SELECT concat_ws(' ', will_renew, commitment_until > now() + '200 days', commitment_will_renew) FROM appstore.entitlements"
                ) == ["t t f"]
            )
            #expect(
                try await scene.database.lines(
                    """
                    SELECT concat_ws(' ', c.j ->> 'payments_left', c.j ->> 'will_renew', c.j ->> 'price_milliunits')
                    FROM (SELECT data -> 'commitment' FROM appstore.feed WHERE type = 'effect.will_not_renew'
                          UNION ALL SELECT appstore.explain_customer('anna') #> '{contracts,0,commitment}') AS c (j)
                    """
                ) == ["9 false 60000", "9 false 60000"]
            )
        }
    }

    @Test func `a plan that is paid otherwise ends what was known of the commitment`() async throws {
        try await WorkerScene.with { scene in
            try await scene.post(Self.month, by: "anna")
            let yearly = Sale("pro.yearly", "1003", of: "1000", onDay: -1, until: 364, price: 60_000)
            try await scene.notify(.didChangeRenewalPref, .upgrade, of: yearly)
            #expect(try await scene.commitment() == ["t"])
        }
    }
}

extension Sale {
    /// The same purchase as a month of a commitment of twelve.
    fileprivate func committed(month: Int32, endingOn day: Double) -> Sale {
        with {
            $0.transaction.commitment = SimulatedCommitment(number: month, total: 12, expiresDate: Sale.day(day), price: 60_000)
            $0.renewal?.commitment = SimulatedRenewalCommitment(
                productID: $0.transaction.product.id,
                renews: true,
                renewalDate: Sale.day(day),
                price: 60_000
            )
        }
    }

    /// The same, when the customer wants no other commitment.
    fileprivate func cancelled() -> Sale { with { $0.renewal?.commitment?.renews = false } }
}

extension WorkerScene {
    /// `renews until payments-left renews-then` of each contract; the day is that on which the commitment ends.
    fileprivate func commitment() async throws -> [String] {
        let start = PostgresTimestamp(millisecondsSince1970: SignedScene.now.millisecondsSince1970)
        return try await database.lines(
            """
            SELECT concat_ws(' ', will_renew, round(extract(epoch FROM commitment_until - \(start)) / 86400, 2)::float8::text,
                             commitment_payments_left, commitment_will_renew)
            FROM appstore.contracts ORDER BY original_transaction_id
            """
        )
    }

    /// `status subscriptions` of now.
    fileprivate func renewals() async throws -> [String] {
        try await database.lines("SELECT concat_ws(' ', status, subscriptions) FROM appstore_reports.renewal_status_at()")
    }
}

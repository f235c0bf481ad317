import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import Testing

/// Charges that fail, where Apple leaves out the end of the grace period, or the subtype and the status differ.
struct GracePeriodTests {
    /// A month that ended ten days ago, and whose renewal failed then.
    private static let month = Sale("1000", onDay: -40, until: -10)

    private static func failed(_ status: Status, onDay day: Double = -10) -> Sale { month.failed(status, onDay: day) }

    private func started(_ scene: WorkerScene) async throws {
        try await scene.post(Self.month, by: "anna")
    }

    @Test(arguments: [Way.notification, .statusAnswer])
    func `a grace period without a date gives access for 28 days after the period`(way: Way) async throws {
        try await WorkerScene.with { scene in
            try await started(scene)
            try await scene.learn(Self.failed(.billingGracePeriod), by: way, as: .didFailToRenew)
            #expect(try await scene.access(of: "anna") == ["pro.monthly active grace_period 18"])
        }
    }

    @Test func `without a date the grace period ends after 28 days, and with one on that day`() async throws {
        for (end, until) in [(nil, "-2"), (-16.0, "-16"), (-14, "-14")] as [(Double?, String)] {
            try await WorkerScene.with { scene in
                let month = Sale("1000", onDay: -60, until: -30)
                try await scene.post(month, by: "anna")
                try await scene.notify(
                    .didFailToRenew,
                    .gracePeriod,
                    of: month.failed(.billingGracePeriod, onDay: -30, graceUntil: end)
                )
                #expect(try await scene.access(of: "anna") == ["pro.monthly ended billing_retry \(until)"])
            }
        }
    }

    @Test(arguments: [true, false])
    func `an expiry ends a grace period without a date, in either order of arrival`(inOrder: Bool) async throws {
        try await WorkerScene.with { scene in
            try await started(scene)
            let steps = [
                { try await scene.notify(.didFailToRenew, .gracePeriod, of: Self.failed(.billingGracePeriod)) },
                { try await scene.notify(.expired, .billingRetry, of: Self.month.expired(onDay: -2, .billingError)) },
            ]
            for step in inOrder ? steps : steps.reversed() { _ = try await step() }
            #expect(try await scene.access(of: "anna") == ["pro.monthly ended expired -10"])
            #expect(try await scene.effects() == ["expired", "grace_period_started", "granted 1000/51000"])
        }
    }

    @Test(arguments: [true, false])
    func `GRACE_PERIOD_EXPIRED ends a grace period without a date, in either order of arrival`(inOrder: Bool) async throws {
        try await WorkerScene.with { scene in
            try await started(scene)
            let steps = [
                { try await scene.notify(.didFailToRenew, .gracePeriod, of: Self.failed(.billingGracePeriod)) },
                { try await scene.notify(.gracePeriodExpired, of: Self.failed(.billingRetry, onDay: -4)) },
            ]
            for step in inOrder ? steps : steps.reversed() { _ = try await step() }
            #expect(try await scene.access(of: "anna") == ["pro.monthly ended billing_retry -10"])
        }
    }

    @Test(arguments: [true, false])
    func `a recovered charge continues the contract, in either order of arrival`(inOrder: Bool) async throws {
        try await WorkerScene.with { scene in
            try await started(scene)
            let recovered = Sale("1001", of: "1000", onDay: -3, until: 27)
            let steps = [
                { try await scene.notify(.didFailToRenew, .gracePeriod, of: Self.failed(.billingGracePeriod)) },
                { try await scene.notify(.didRenew, .billingRecovery, of: recovered) },
            ]
            for step in inOrder ? steps : steps.reversed() { _ = try await step() }
            #expect(try await scene.access(of: "anna") == ["pro.monthly active active 27"])
            #expect(try await scene.orders() == ["1000 anna paid", "1001 anna paid"])
        }
    }

    @Test(
        arguments: [
            (nil, .billingGracePeriod, "grace_period_started", "active grace_period 18"),
            (.gracePeriod, .billingGracePeriod, "grace_period_started", "active grace_period 18"),
            (.gracePeriod, .billingRetry, "billing_retry_started", "ended billing_retry -10"),
            (nil, .billingRetry, "billing_retry_started", "ended billing_retry -10"),
        ] as [(Subtype?, Status, String, String)]
    )
    func `the effect of a failed renewal says what its status says, and so does access`(
        subtype: Subtype?,
        status: Status,
        effect: String,
        access: String
    ) async throws {
        try await WorkerScene.with { scene in
            try await started(scene)
            try await scene.notify(.didFailToRenew, subtype, of: Self.failed(status))
            #expect(try await scene.effects() == [effect, "granted 1000/51000"].sorted())
            #expect(try await scene.access(of: "anna") == ["pro.monthly \(access)"])
        }
    }

    @Test(arguments: [true, false])
    func `an old contract that recovers and is refunded does not touch the new one beside it`(inOrder: Bool) async throws {
        try await WorkerScene.with { scene in
            let (first, second) = (try await scene.order("pro.quarter", by: "anna"), try await scene.order("pro.yearly", by: "anna"))
            let old = Sale("pro.quarter", "1000", onDay: -95, until: -4, token: first)
            let recovered = Sale("pro.quarter", "1001", of: "1000", onDay: -1.8, until: 89.2, token: first)
            let steps = [
                { try await scene.notify(.subscribed, .initialBuy, of: old) },
                { try await scene.notify(.didFailToRenew, .gracePeriod, of: old.failed(.billingGracePeriod, onDay: -4, graceUntil: -3)) },
                { try await scene.notify(.gracePeriodExpired, of: old.failed(.billingRetry, onDay: -3, graceUntil: -3)) },
                {
                    try await scene.notify(
                        .subscribed,
                        .initialBuy,
                        of: Sale("pro.yearly", "2000", onDay: -2, until: 363, token: second)
                    )
                },
                { try await scene.notify(.didRenew, .billingRecovery, of: recovered) },
                { try await scene.notify(.refund, of: recovered.refunded(onDay: -1.7)) },
            ]
            for step in inOrder ? steps : steps.reversed() { _ = try await step() }
            #expect(try await scene.orders() == ["1000 anna paid", "1001 anna refunded", "2000 anna paid"])
            let access = try await scene.access(of: "anna")
            #expect(access == ["pro.quarter ended refunded -1.7", "pro.yearly active active 363"])
        }
    }
}

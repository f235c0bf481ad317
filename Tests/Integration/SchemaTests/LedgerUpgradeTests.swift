import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LedgerTesting
import Logging
import Postgres
import PostgresTesting
import SQL
import Schema
import StrictJSON
import Testing
import UpgradeTesting

/// What the upgrade makes of a ledger of version 2.
struct LedgerUpgradeTests {
    private static let refunds: Statement = """
        SELECT concat_ws(' ', subject, (restated_date - occurred_at)::text) FROM appstore.effects WHERE kind = 'refunded' ORDER BY subject
        """

    /// A product that is kept; copies name the first of its transactions.
    private func lifetime(_ id: String, of contract: String? = nil, onDay day: Double) -> Facts.Charge {
        Facts.Charge(product: "lifetime", id, type: .nonConsumable, onDay: day).with { charge in
            guard let contract else { return }
            charge.contract = contract
            charge.members["originalPurchaseDate"] = .number(.init(Facts.day(0)))
        }
    }

    @Test func `a copy of a purchase loses its order, and tells no payment`() async throws {
        let scene = try await UpgradeScene()
        try await scene.say(lifetime("1000", onDay: 0), postedBy: "anna", onDay: 1)
        try await scene.say(lifetime("1001", of: "1000", onDay: 10))
        try await scene.say(lifetime("2001", of: "2000", onDay: 10))
        let database = try await scene.versionTwo()
        #expect(try await database.orders() == ["1000 anna", "1001 anna", "2001 -"].map { "Production \($0) paid" })
        let told = try await database.told { try await database.migrate() }
        #expect(told.filter { !$0.hasPrefix("access.changed ") } == [])
        #expect(try await database.orders() == ["1000 anna", "2001 -"].map { "Production \($0) paid" })
        #expect(try await database.lines("SELECT sum(price)::text FROM appstore_reports.charges") == ["19980"])
        #expect(
            try await DerivedAgain.effects(database) == ["1000", "1001", "2000"].map { "Production granted \($0)" },
            "the grant of a copy is its purchase's, unless that has one"
        )
        let later = try await database.told {
            for (id, charge) in [lifetime("1001", of: "1000", onDay: 10), lifetime("2000", onDay: 0)].enumerated() {
                try await UpgradeScene.merge(UpgradeScene.event(100 + Int64(id), charge.with { $0.signedDay = 20 }), into: database)
            }
        }
        #expect(later.filter { $0.hasPrefix("effect.") || $0.hasPrefix("order.") } == [])
        #expect(try await database.orders() == ["1000 anna", "2000 -"].map { "Production \($0) paid" })
    }

    @Test func `a refund that was recorded twice is one, and the one after a reversal is another`() async throws {
        func refunded(_ id: String, onDay day: Double) -> Facts.Charge {
            lifetime(id, onDay: 0).with { ($0.revocationDay, $0.signedDay) = (day, day) }
        }
        let scene = try await UpgradeScene()
        // Apple has moved the date of the first; a copy of the second was refunded with it; the third was reversed.
        for day in [5.0, 16] { try await scene.say(refunded("1000", onDay: day)) }
        try await scene.say(refunded("2000", onDay: 5))
        try await scene.say(lifetime("2001", of: "2000", onDay: 3).with { ($0.revocationDay, $0.signedDay) = (5, 6) })
        try await scene.say(refunded("3000", onDay: 5))
        try await scene.say(lifetime("3000", onDay: 0).with { $0.signedDay = 7 }, reversal: UUID())
        try await scene.say(refunded("3000", onDay: 9))
        let database = try await scene.versionTwo()
        #expect(try await DerivedAgain.effects(database).count { $0.contains(" refunded ") } == 6)
        let told = try await database.told { try await database.migrate() }
        #expect(told.filter { !$0.hasPrefix("access.changed ") } == [])
        let expected = ["1000/0 11 days", "2000/0", "3000/0", "3000/1"]
        #expect(try await database.lines(Self.refunds) == expected)
        #expect(try await scene.new.lines(Self.refunds) == expected)

        let again = try await database.told {
            for (id, charge) in [
                refunded("1000", onDay: 5), refunded("1000", onDay: 16).with { $0.signedDay = 20 }, refunded("2000", onDay: 8),
                refunded("3000", onDay: 9),
            ].enumerated() {
                try await UpgradeScene.merge(UpgradeScene.event(100 + Int64(id), charge), into: database)
            }
        }
        #expect(again.filter { $0.hasPrefix("effect.") } == [])
        let reversed = try await database.told {
            let reversal = lifetime("1000", onDay: 0).with { $0.signedDay = 25 }
            try await UpgradeScene.merge(UpgradeScene.event(200, reversal, reversal: UUID()), into: database)
            try await UpgradeScene.merge(UpgradeScene.event(201, refunded("1000", onDay: 30)), into: database)
        }
        #expect(reversed.filter { $0.hasPrefix("effect.") } == ["effect.refund_reversed 1000", "effect.refunded 1000"])
        #expect(try await database.lines(Self.refunds) == ["1000/0 11 days", "1000/1", "2000/0 3 days", "3000/0", "3000/1"])
    }

    @Test func `posts that came too late, or after a user was forgotten, make their user the owner`() async throws {
        let scene = try await UpgradeScene()
        try await scene.say(Facts.Charge("1000", onDay: 0).with { $0.contract = "1000" }, postedBy: "anna", onDay: 20)
        try await scene.say(Facts.Charge("2000", onDay: 0).with { $0.contract = "2000" }, postedBy: "berta", onDay: 1)
        try await scene.forget("berta")
        // The user was forgotten today, which is after these days.
        try await scene.say(Facts.Charge("2001", onDay: 30).with { $0.contract = "2000" }, postedBy: "carla", onDay: 40_000)
        let token = UUID()
        try await scene.say(Facts.Charge("3000", onDay: 0, token: token).with { $0.contract = "3000" }, postedBy: "dora", onDay: 20)
        let ordered = UUID()
        try await scene.createOrder(ordered, user: "emma", product: "pro.monthly")
        try await scene.say(Facts.Charge("4000", onDay: 0, token: ordered).with { $0.contract = "4000" })
        let database = try await scene.versionTwo()
        #expect(try await database.contracts() == ["1000 - 1000", "2000 forgotten 2001", "3000 - 3000", "4000 emma 4000"])
        let old = "SELECT count(*)::text FROM appstore.orders WHERE substr(order_no::text, 15, 1) = '5'" as Statement
        #expect(try await database.lines(old) == ["3"])

        let told = try await database.told { try await database.migrate() }
        #expect(try await database.contracts() == ["1000 anna 1000", "2000 carla 2001", "3000 dora 3000", "4000 emma 4000"])
        #expect(
            told.sorted() == [
                "access.changed 1000 anna", "access.changed 2000 carla", "access.changed 3000 dora", "owner.changed 2000 carla",
            ]
        )
        #expect(try await database.lines(old) == ["0"])
        #expect(
            try await database.lines("SELECT order_no::text FROM appstore.orders WHERE transaction_id = '1000'")
                == [try Facts.Charge("1000", onDay: 0).fact().periodNumber.uuidString.lowercased()]
        )
    }

    /// Each kind of row that the steps change.
    private func everything() async throws -> UpgradeScene {
        let scene = try await UpgradeScene()
        try await scene.say(lifetime("1000", onDay: 0), postedBy: "anna", onDay: 1)
        try await scene.say(lifetime("1001", of: "1000", onDay: 10), postedBy: "berta", onDay: 10)
        for day in [5.0, 16] { try await scene.say(lifetime("2000", onDay: 0).with { ($0.revocationDay, $0.signedDay) = (day, day) }) }
        try await scene.say(lifetime("2000", onDay: 0).with { $0.signedDay = 20 }, reversal: UUID())
        let orders = [UUID(), UUID()]
        for (order, user) in zip(orders, ["carla", "dora"]) { try await scene.createOrder(order, user: user, product: "lifetime") }
        try await scene.say(lifetime("3000", onDay: 0).with { $0.token = orders[0] })
        try await scene.say(lifetime("3001", of: "3000", onDay: 4).with { $0.token = orders[1] })
        // An upgrade beside a renewal that was charged early; a grace period without a date; a period with a copy; posts.
        try await scene.say(Facts.Charge("4000", onDay: 0).with { ($0.contract, $0.product) = ("4000", "basic") })
        try await scene.say(
            Facts.Charge("4001", onDay: 30).with { ($0.contract, $0.product, $0.isUpgraded, $0.signedDay) = ("4000", "basic", true, 29.6) }
        )
        try await scene.say(
            Facts.Charge("4002", onDay: 29.5).with { ($0.contract, $0.product, $0.expiresDay) = ("4000", "premium", 394.5) }
        )
        try await scene.say(Facts.Charge("5000", onDay: 0).with { $0.contract = "5000" })
        try await scene.say(Facts.subscription("5000", signedDate: Facts.day(30), status: .billingGracePeriod))
        try await scene.say(Facts.Charge("6000", onDay: 0).with { $0.contract = "6000" })
        try await scene.say(Facts.Charge("6001", onDay: 0).with { ($0.contract, $0.lineItem, $0.signedDay) = ("6000", "56000", 5) })
        for user in ["emma", "frida"] {
            try await scene.say(Facts.Charge("7000", onDay: 0).with { $0.contract = "7000" }, postedBy: user, onDay: 9)
        }
        try await scene.forget("emma")
        try await scene.say(Facts.Charge("7001", onDay: 30).with { $0.contract = "7000" }, postedBy: "greta", onDay: 40_000)
        try await scene.say(
            Facts.Charge("8000", onDay: 0, token: orders[0]).with {
                ($0.contract, $0.environment, $0.product) = ("8000", .sandbox, "lifetime")
            }
        )
        try await scene.say(Facts.Charge("9000", onDay: 0, token: UUID()).with { $0.contract = "9000" }, postedBy: "hanna", onDay: 9)
        return scene
    }

    @Test func `an upgraded ledger is what a new one makes of the same facts`() async throws {
        let scene = try await everything()
        let database = try await scene.versionTwo()
        let new = try await DerivedAgain.rows(scene.new)
        #expect(try await DerivedAgain.rows(database) != new)
        try await database.migrate()
        let upgraded = try await DerivedAgain.rows(database)
        #expect(upgraded.filter { !new.contains($0) } == [])
        #expect(new.filter { !upgraded.contains($0) } == [])
        // What version 2 has told of copies stays.
        let effects = try await DerivedAgain.effects(scene.new)
        #expect(try await DerivedAgain.effects(database) == (effects + ["Production granted 1001", "Production granted 3001"]).sorted())
    }

    @Test func `another upgrade, and another derivation of everything, change nothing`() async throws {
        let database = try await everything().versionTwo()
        _ = try await database.told { try await database.migrate() }
        let before = (try await DerivedAgain.rows(database), try await DerivedAgain.effects(database))
        let told = try await database.told {
            #expect(try await database.migrate().isEmpty)
            try await database.withConnection { _ = try await $0.execute(DerivedAgain.all) }
        }
        #expect(told == [])
        let rows = try await DerivedAgain.rows(database)
        #expect(rows.filter { !before.0.contains($0) } == [])
        #expect(rows.count == before.0.count)
        #expect(try await DerivedAgain.effects(database) == before.1)
    }

    @Test func `who was assigned a seat has bought nothing, and its end was no refund`() async throws {
        let scene = try await UpgradeScene()
        let order = UUID()
        try await scene.createOrder(order, user: "berta", product: "pro.monthly")
        let member = Facts.Charge("1000", onDay: 0, token: order).with { $0.ownership = .assigned }
        try await scene.say(member, postedBy: "berta", onDay: 1)
        try await scene.say(
            member.with { ($0.revocationDay, $0.signedDay, $0.members) = (5, 5, ["revocationType": "ASSIGNMENT_REVOKE"]) }
        )
        let database = try await scene.versionTwo()
        #expect(try await database.orders() == ["Production 1000 berta refunded"])
        let told = try await database.told { try await database.migrate() }
        #expect(told.filter { $0.hasPrefix("effect.") || $0.hasPrefix("order.") } == [])
        #expect(try await database.orders() == ["Production - berta pending"])
        #expect(try await DerivedAgain.rows(database) == DerivedAgain.rows(scene.new))
        let effects = try await DerivedAgain.effects(database)
        let expected = try await DerivedAgain.effects(scene.new)
        #expect(effects == expected)
        #expect(effects.count { $0.contains(" revoked ") } == 1)
        #expect(
            try await database.lines("SELECT name FROM (SELECT relname::text AS name FROM pg_class WHERE relname ~ '^step_') AS s") == []
        )
    }

    /// Version 17 judged a part by the newest statement about its first copy, and submissions from before a migration by themselves.
    @Test func `parts of purchases and migrated contracts of version 17 are derived again`() async throws {
        func part(_ id: String, onDay day: Double, seats: Int64) -> Facts.Charge {
            let tier: JSONObject = ["price": 9990, "quantity": .number(JSONNumber(seats))]
            return Facts.Charge(id, onDay: day).with {
                ($0.lineItem, $0.expiresDay, $0.signedDay) = ("51000", 30, 3)
                $0.members = [
                    "quantity": .number(JSONNumber(seats)), "additionalTransactionReason": "SEAT_ADDITION",
                    "multiSeatInfo": ["invitationManagement": "APPLE", "priceTiers": [.object(tier)]],
                ]
            }
        }
        let scene = try await UpgradeScene()
        try await scene.say(part("1000", onDay: 0, seats: 5), postedBy: "anna", onDay: 1)
        try await scene.say(part("1001", onDay: 2, seats: 2))
        try await scene.say(part("1002", onDay: 2, seats: 2).with { ($0.revocationDay, $0.signedDay) = (4, 4) })
        try await scene.say(Facts.Charge("2000", onDay: 0).with { $0.contract = "2000" })
        try await scene.say(
            Facts.Charge("3000", onDay: 30).with { ($0.contract, $0.members) = ("3000", ["previousOriginalTransactionId": "2000"]) },
            postedBy: "carla",
            onDay: 31
        )
        try await scene.forget("carla")
        // The user was forgotten today, which is after these days.
        try await scene.say(
            Facts.Charge("2000", onDay: 0).with { ($0.contract, $0.signedDay) = ("2000", 32) },
            postedBy: "dora",
            onDay: 40_000
        )
        let database = try await ReleasedSchema.install(17)
        for event in scene.events.dropLast() { try await UpgradeScene.merge(event, into: database) }
        try await UpgradeScene.forget("carla", in: database)
        try await UpgradeScene.merge(scene.events[5], into: database)
        let new = try await DerivedAgain.rows(scene.new)
        #expect(try await DerivedAgain.rows(database) != new)
        try await database.migrate()
        #expect(try await DerivedAgain.rows(database) == new)
    }

    @Test func `many tokens of Sandbox do not fill the server's table of locks`() async throws {
        let cluster = try await TestCluster.startPrivate(settings: ["max_connections": "20", "max_locks_per_transaction": "32"])
        let database = try await ReleasedSchema.install(2, in: cluster)
        try await database.run(
            """
            INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
                purchase_date, signed_date, payload_hash, first_signed_date, first_token, app_account_token, period_no, is_subscription, order_no)
            SELECT 'Sandbox', n, n, 'b', 'p', 'Non-Consumable', now(), now(), '\\x01', now(), token, token, gen_random_uuid(), false, token
            FROM (SELECT n::text AS n, gen_random_uuid() AS token FROM generate_series(1, 4000) AS n) AS bought;
            INSERT INTO appstore.contracts (environment, original_transaction_id) SELECT environment, original_transaction_id FROM appstore.transactions;
            INSERT INTO appstore.orders (environment, order_no, status, period_no, transaction_id, original_transaction_id, paid_at)
            SELECT environment, order_no, 'paid', period_no, transaction_id, original_transaction_id, now() FROM appstore.transactions;
            INSERT INTO appstore.client_posts (environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id)
            SELECT environment, original_transaction_id, 'anna', false, transaction_id, now(), 1 FROM appstore.transactions;
            """
        )
        try await database.migrate()
        #expect(try await database.lines("SELECT count(current_transaction_id)::text FROM appstore.contracts") == ["4000"])
    }

    @Test func `the upgrade names orders with a number that is no token any more`() async throws {
        let database = try await ReleasedSchema.install(2)
        let number = "00000000-0000-8000-8000-000000000001"
        try await database.run("SELECT appstore.create_order('anna', 'p', '\(number)')")
        let log = CapturedLog()
        var options = try ConnectionOptions(database.url())
        options.logsNotices = true
        let connection = try await Connection.open(options, logger: log.logger)
        _ = try await SchemaMigrator(connection: connection, logger: .silent).migrate()
        await connection.close()
        #expect(log.text.contains(number), "\(log.text)")
        #expect(try await database.lines("SELECT order_no::text FROM appstore.orders WHERE status = 'pending'") == [number])
    }
}

import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import PostgresTesting
import SignedTesting
import StoreSimulator
import Testing

/// A subscription that moves to the Advanced Commerce API gets another originalTransactionId, and names the one before.
struct MigrationTests {
    private static let bought = Sale("1000", onDay: -40, until: -10)
    private static let migrated = after("1000", Sale("2000", onDay: -10))

    private static func after(_ contract: String, _ sale: Sale) -> Sale {
        sale.with { $0.transaction.previousOriginalTransactionID = contract }
    }

    /// `contract user` of each contract.
    private func owners(_ scene: WorkerScene) async throws -> [String] {
        try await scene.database.lines(
            "SELECT concat_ws(' ', original_transaction_id, user_id) FROM appstore.contracts WHERE product_id IS NOT NULL ORDER BY 1"
        )
    }

    /// In any order: what is bought, who posts it, and that it has migrated.
    @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
    func `owner, orders and access follow a migration`(order: [Int]) async throws {
        try await WorkerScene.with { scene in
            let steps: [() async throws -> Void] = [
                { try await scene.notify(.subscribed, .initialBuy, of: Self.bought) },
                { try await scene.post(Self.bought, by: "anna") },
                { try await scene.notify(.migration, of: Self.migrated) },
            ]
            for step in order { try await steps[step]() }
            #expect(try await owners(scene) == ["1000 anna", "2000 anna"])
            #expect(try await scene.orders() == ["1000 anna paid", "2000 anna paid"])
            #expect(try await scene.access(of: "anna") == ["pro.monthly active active 20", "pro.monthly ended expired -10"])
        }
    }

    /// Apple documents the member for notifications only: its API may leave it out.
    @Test func `a later statement without the member does not undo it`() async throws {
        try await WorkerScene.with { scene in
            try await scene.post(Self.bought, by: "anna")
            try await scene.notify(.migration, of: Self.migrated)
            try await scene.learn(Sale("2000", onDay: -10).signed(onDay: -1), by: .transactionAnswer, as: .didRenew)
            #expect(try await owners(scene) == ["1000 anna", "2000 anna"])
        }
    }

    @Test func `a post of another user's purchase after its migration is refused`() async throws {
        try await WorkerScene.with { scene in
            try await scene.post(Self.bought, by: "anna")
            try await scene.notify(.migration, of: Self.migrated)
            try await scene.post(Self.migrated.signed(onDay: -9), by: "berta", onDay: 1)
            #expect(try await owners(scene) == ["1000 anna", "2000 anna"])
            let unmatched = try await scene.database.lines("SELECT concat_ws(' ', reason, user_id, owner_user_id) FROM appstore.unmatched")
            #expect(unmatched == ["owner_conflict berta anna"])
        }
    }

    @Test func `a link counts after the migration, whichever contract it names, until it is undone where it was made`() async throws {
        try await WorkerScene.with { scene in
            let last = Self.after("2000", Sale("3000", onDay: -5))
            for sale in [Self.bought, Self.migrated, last] { try await scene.notify(.migration, of: sale) }
            try await scene.run("SELECT appstore.link_owner('Production', '1000', 'anna')")
            #expect(try await owners(scene) == ["1000 anna", "2000 anna", "3000 anna"])
            try await scene.run("SELECT appstore.link_owner('Production', '3000', 'berta')")
            #expect(try await owners(scene) == ["1000 anna", "2000 anna", "3000 berta"])
            try await scene.run("SELECT appstore.unlink_owner('Production', '1000')")
            #expect(try await owners(scene) == ["1000", "2000", "3000 berta"])
            let unlink: Statement = "SELECT appstore.unlink_owner('Production', '2000')"
            await #expect(throws: PostgresError.self) { try await scene.run(unlink) }
            try await scene.run("SELECT appstore.link_owner('Production', '1000', 'carla')")
            try await scene.run("SELECT appstore.forget('carla')")
            #expect(try await scene.database.lines("SELECT count(*)::text FROM appstore.ownership_claims WHERE user_id = 'carla'") == ["0"])
        }
    }

    @Test func `a post of the contract before takes nothing from the owner of the one after`() async throws {
        try await WorkerScene.with { scene in
            try await scene.notify(.subscribed, .initialBuy, of: Self.bought)
            try await scene.notify(.migration, of: Self.migrated)
            try await scene.post(Self.migrated.signed(onDay: -9), by: "anna")
            try await scene.post(Self.bought.signed(onDay: -8), by: "berta", onDay: 1)
            #expect(try await owners(scene) == ["1000 berta", "2000 anna"])
        }
    }

    @Test(arguments: [Self.bought, Self.migrated])
    func `after a user was forgotten the next post counts, whichever contract it is of`(posted: Sale) async throws {
        try await WorkerScene.with { scene in
            try await scene.post(Self.bought, by: "anna")
            try await scene.notify(.migration, of: Self.migrated)
            try await scene.run("SELECT appstore.forget('anna')")
            try await scene.post(posted.signed(onDay: -9), by: "berta", onDay: 1)
            try await scene.post(Self.migrated.signed(onDay: -8), by: "carla", onDay: 2)
            #expect(try await owners(scene).last == "2000 berta")
        }
    }

    /// The forgotten user's claim is of a later purchase than the next post.
    @Test func `the next post after a user was forgotten is no weaker than the claim of that user`() async throws {
        try await WorkerScene.with { scene in
            let bought = Sale("1000", onDay: -1, until: -0.5)
            let migrated = Self.after("1000", Sale("2000", onDay: -0.5))
            try await scene.notify(.subscribed, .initialBuy, of: bought)
            try await scene.post(migrated, by: "anna")
            try await scene.run("SELECT appstore.forget('anna')")
            try await scene.post(bought.signed(onDay: -0.9), by: "berta", onDay: 1)
            #expect(try await owners(scene) == ["1000 berta", "2000 berta"])
        }
    }

    /// A token that the contract after repeats is no news: the link holds.
    @Test func `a user's token that is repeated after the migration undoes no link`() async throws {
        try await WorkerScene.with { scene in
            let token = try #require(UUID(uuidString: "7b1c0d4e-6f2a-4c5b-8d3e-9a0b1c2d3e4f"))
            try await scene.run("SELECT appstore.set_user_token(\(token), 'anna')")
            try await scene.notify(.subscribed, .initialBuy, of: Self.bought.with { $0.transaction.appAccountToken = token })
            try await scene.run("SELECT appstore.link_owner('Production', '1000', 'berta')")
            try await scene.notify(.migration, of: Self.migrated.with { $0.transaction.appAccountToken = token })
            #expect(try await owners(scene) == ["1000 berta", "2000 berta"])
        }
    }

    @Test func `an import's line about the contract before overrides nothing that was paid by then`() async throws {
        try await WorkerScene.with { scene in
            let token = try #require(UUID(uuidString: "7b1c0d4e-6f2a-4c5b-8d3e-9a0b1c2d3e4f"))
            try await scene.run("SELECT appstore.set_user_token(\(token), 'berta')")
            try await scene.notify(.subscribed, .initialBuy, of: Self.bought)
            try await scene.notify(.migration, of: Self.migrated.with { $0.transaction.appAccountToken = token })
            try await scene.run(
                "SELECT appstore.record_owner_link('Production', '1000', 'anna', now(), 'tests', NULL, import_id => 1)"
            )
            #expect(try await owners(scene) == ["1000 anna", "2000 berta"])
        }
    }

    @Test func `a worker that waits for the contract before loses no owner`() async throws {
        try await WorkerScene.with { scene in
            try await scene.post(Self.bought, by: "anna")
            try await scene.notify(.migration, of: Self.migrated)
            try await scene.run("ALTER FUNCTION appstore.lock_found_contracts SET lock_timeout = '1min'")
            let holder = try await Connection.open(ConnectionOptions(scene.database.url()), logger: .silent)
            try await holder.runScript("BEGIN; SELECT FROM appstore.contracts WHERE original_transaction_id = '1000' FOR UPDATE")
            async let later: Void = scene.run("SELECT appstore.link_owner('Production', '2000', 'berta')")
            try await scene.database.awaitLockWaiters(1)
            try await holder.runScript("COMMIT")
            try await later
            await holder.close()
            let claims = try await scene.database.lines(
                "SELECT concat_ws(' ', kind, user_id) FROM appstore.ownership_claims WHERE original_transaction_id = '2000' ORDER BY 1"
            )
            #expect(claims == ["client anna", "link berta"])
        }
    }

    /// Apple makes none. It must not stop the books.
    @Test func `a circle of migrations has an owner`() async throws {
        try await WorkerScene.with { scene in
            try await scene.post(Self.after("2000", Self.bought), by: "anna")
            #expect(try await scene.notify(.migration, of: Self.migrated) == "applied")
            #expect(try await owners(scene) == ["1000 anna", "2000 anna"])
        }
    }
}

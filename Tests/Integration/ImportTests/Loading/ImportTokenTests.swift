import InboxTesting
import Outbox
import Postgres
import PostgresTesting
import Testing

@testable import Backfill
@testable import Commands

/// Tokens of a file, which mean its users.
@Suite struct ImportTokenTests {
    private static let token = "11111111-1111-4111-8111-111111111111"
    private static let another = "22222222-2222-5222-8222-222222222222"
    private static let third = "33333333-3333-4333-8333-333333333333"

    private func tokens(_ scene: ImportScene) async throws -> [String] {
        try await scene.lines("SELECT concat_ws(' ', token, user_id, actor) FROM appstore.user_tokens ORDER BY token")
    }

    private func claims(_ scene: ImportScene) async throws -> [String] {
        try await scene.lines("SELECT concat_ws(' ', original_transaction_id, kind, user_id) FROM appstore.ownership_claims ORDER BY 1")
    }

    private func misses(_ scene: ImportScene) async throws -> [String] {
        try await scene.lines("SELECT concat_ws(' ', line, id, user_id, why, state, token) FROM appstore.import_misses ORDER BY line, why")
    }

    /// Makes the purchase 10, by a notification.
    private func buy(with token: String, _ scene: ImportScene) async throws {
        try await scene.execute(
            """
            INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
                purchase_date, signed_date, payload_hash, first_signed_date, is_subscription, period_no, order_no, app_account_token,
                first_token)
            VALUES ('Production', '10', '10', 'com.example.app', 'p', 'Non-Consumable', '2026-01-01', now(), '\\x01', now(), false,
                    gen_random_uuid(), gen_random_uuid(), \(token)::text::uuid, \(token)::text::uuid)
            """
        )
        try await scene.execute("SELECT appstore.derive_ledger('Production', '{10}', '{10}')")
    }

    @Test(arguments: [true, false]) func `a token means its user, for purchases before and after`(isBoughtFirst: Bool) async throws {
        try await ImportScene.with { scene in
            if isBoughtFirst { try await buy(with: Self.token, scene) }
            // Apple need not know the id.
            try await scene.load("transaction_id,user_id,token\n50,anna,\(Self.token)\n60,berta,\n")
            try await scene.drain()
            if !isBoughtFirst { try await buy(with: Self.token, scene) }
            #expect(try await tokens(scene) == ["\(Self.token) anna appstore_operator"])
            #expect(try await claims(scene) == ["10 token anna"])
            #expect(try await scene.lines("SELECT token::text FROM appstore.import_tokens") == [])
            #expect(Set(scene.apple.asked) == ["50", "60"])
        }
    }

    @Test func `tokens are set before Apple is asked, and a line without one asks as before`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"])] }
            try await scene.load("transaction_id,user_id,token\n10,anna,\(Self.token.uppercased())\n")
            #expect(try await scene.lease().isEmpty)
            #expect(try await scene.lines("SELECT phase || ' ' || run_at FROM appstore.import_chunks") == ["token infinity"])
            #expect(try await scene.store.setToken())
            #expect(try await !scene.store.setToken())
            #expect(try await scene.lease().map(\.items.count) == [1])
        }
    }

    @Test func `a token that cannot mean the user is a miss, and the others are set`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"]), .init(["20"]), .init(["30"])] }
            try await scene.execute("SELECT appstore.create_order('anna', 'p', \(Self.token)::text::uuid)")
            try await scene.load(
                """
                transaction_id,user_id,token
                10,anna,\(Self.token)
                20,berta,\(Self.another)
                30,carla,\(Self.another)
                40,dora,\(Self.third)
                """
            )
            try await scene.drain()
            try await scene.work()
            try await scene.link()
            #expect(try await tokens(scene).map { $0.split(separator: " ")[1] } == ["berta", "dora"])
            #expect(
                try await misses(scene) == [
                    "2 10 anna token_of_order found \(Self.token)", "4 30 carla token_of_another_user found \(Self.another)",
                    "5 40 dora again again",
                ]
            )
            // The contracts are their users' all the same.
            #expect(try await claims(scene) == ["10 link anna", "20 link berta", "30 link carla"])
        }
    }

    @Test func `what the database refuses is a miss, and ends no import`() async throws {
        try await ImportScene.with { scene in
            try await scene.load("transaction_id,user_id,token\n10,anna,\(Self.token)\n20,berta,\(Self.another)\n")
            try await scene.execute("ALTER TABLE appstore.user_tokens ADD CONSTRAINT made_up CHECK (user_id <> 'anna')")
            try await scene.setTokens()
            _ = try await scene.lease()
            try await scene.setTokens()
            #expect(try await tokens(scene).map { $0.split(separator: " ")[1] } == ["berta"])
            #expect(try await misses(scene) == ["2 10 anna database_23514 open \(Self.token)"])
        }
    }

    @Test func `a repeated line brings its token, and one that contradicts brings none`() async throws {
        try await ImportScene.with { scene in
            let report = try await scene.load(
                "transaction_id,user_id,token\n10,anna,\(Self.token)\n10,anna,\(Self.another)\n10,berta,\(Self.third)\n"
            )
            #expect((report.items, report.repeated, report.badLines) == (1, 1, 1))
            try await scene.drain()
            #expect(try await tokens(scene).map { $0.prefix(8) } == ["11111111", "22222222"])
        }
    }

    @Test func `a line whose token is none is not imported`() async throws {
        try await ImportScene.with { scene in
            let report = try await scene.load(
                "transaction_id,user_id,token\n10,anna,x\n20,anna,11111111-1111-8111-8111-111111111111\n30,,\(Self.token)\n40,anna,\n"
            )
            #expect((report.items, report.badLines) == (1, 3))
            #expect(report.samples.map(\.line) == [2, 3, 4])
            #expect(report.samples.map { $0.why.contains("token") } == [true, true, true])
        }
    }

    @Test func `tokens wait while an import is paused or stopped, and it goes on where it was`() async throws {
        try await ImportScene.with { scene in
            let file = "transaction_id,user_id,token\n10,anna,\(Self.token)\n20,berta,\(Self.another)\n"
            try await scene.load(file)
            _ = try await scene.lease()
            #expect(try await scene.store.setToken())
            try await scene.change(to: "paused")
            #expect(try await !scene.store.setToken())
            try await scene.change(to: "stopped")
            #expect(try await !scene.store.setToken())
            #expect(
                try await misses(scene) == [
                    "2 10 anna not_asked open", "3 20 berta not_asked open", "3 20 berta token_not_set open \(Self.another)",
                ]
            )
            #expect(try await scene.load(file).isKnown)
            try await scene.setTokens()
            #expect(try await tokens(scene).count == 2)
            #expect(try await scene.lease().map(\.items.count) == [2])
        }
    }

    @Test func `a second import of the same file changes nothing`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"])] }
            let file = "transaction_id,user_id,token\n10,anna,\(Self.token)\n"
            func state() async throws -> [String] {
                try await scene.lines(
                    """
                    SELECT u::text FROM appstore.user_tokens AS u UNION ALL SELECT c::text FROM appstore.ownership_claims AS c
                    UNION ALL SELECT o::text FROM appstore.orders AS o ORDER BY 1
                    """
                )
            }
            try await buy(with: Self.token, scene)
            try await scene.load(file)
            try await scene.drain()
            try await scene.work()
            try await scene.link()
            let before = try await state()
            #expect(try await scene.load(file, again: true).importID == 2)
            try await scene.setTokens()
            _ = try await scene.lease()
            try await scene.setTokens()
            #expect(try await state() == before)
            #expect(try await scene.lines("SELECT error FROM appstore.import_tokens") == [])
        }
    }

    @Test func `a token gives way to a batch that has locked its contract`() async throws {
        try await ImportScene.with { scene in
            try await buy(with: Self.token, scene)
            try await scene.load("transaction_id,user_id,token\n50,anna,\(Self.token)\n")
            _ = try await scene.lease()
            try await scene.database.withConnection { connection in
                try await connection.withTransaction { batch in
                    _ = try await batch.query("SELECT FROM appstore.contracts WHERE original_transaction_id = '10' FOR UPDATE")
                    let error = await #expect(throws: PostgresError.self) { _ = try await scene.store.setToken() }
                    #expect(error?.isSerializationConflict == true)
                }
            }
            #expect(try await tokens(scene) == [])
            #expect(try await scene.store.setToken())
            #expect(try await claims(scene) == ["10 token anna"])
        }
    }

    @Test func `a user who is forgotten leaves no token to set`() async throws {
        try await ImportScene.with { scene in
            try await scene.load("transaction_id,user_id,token\n10,anna,\(Self.token)\n20,berta,\(Self.another)\n")
            _ = try await scene.lease()
            try await scene.database.withConnection(user: "appstore_operator") {
                _ = try await $0.query("SELECT * FROM appstore.forget('anna')")
            }
            try await scene.setTokens()
            #expect(try await tokens(scene).map { $0.split(separator: " ")[1] } == ["berta"])
            #expect(try await scene.lease().count == 1)
        }
    }

    @Test func `refused tokens go with their import`() async throws {
        try await ImportScene.with { scene in
            try await scene.execute("SELECT appstore.create_order('anna', 'p', \(Self.token)::text::uuid)")
            try await scene.load("transaction_id,user_id,token\n10,anna,\(Self.token)\n")
            try await scene.drain()
            try await scene.change(to: "stopped")
            try await scene.execute("UPDATE appstore.imports SET ended_at = now() - interval '91 days'")
            for _ in 0..<3 { try await scene.execute("SELECT appstore.expire_imports()") }
            #expect(try await scene.lines("SELECT id FROM appstore.import_items UNION ALL SELECT id FROM appstore.import_tokens") == [])
        }
    }
}

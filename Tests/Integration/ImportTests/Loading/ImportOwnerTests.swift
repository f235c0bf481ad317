import InboxTesting
import Outbox
import Postgres
import Testing

@testable import Backfill

@Suite struct ImportOwnerTests {
    /// Claims: `contract kind user`, and `as ordered` where it counts from the begin of the import.
    private func claims(_ scene: ImportScene) async throws -> [String] {
        try await scene.lines(
            """
            SELECT concat_ws(' ', original_transaction_id, kind, user_id,
                             CASE WHEN effective_at IN (SELECT made_at FROM appstore.imports) THEN 'import' END)
            FROM appstore.ownership_claims ORDER BY 1
            """
        )
    }

    @Test func `a user becomes the owner when the answer is in the ledger`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10", "11"]), .init(["20"])] }
            try await scene.load("transaction_id,user_id\n10,anna\n11,berta\n20,\n")
            try await scene.drain()
            #expect(try await scene.store.link())
            #expect(try await claims(scene) == [])
            #expect(try await scene.imports() == ["1 running 2 1 0 0 0 0"])
            try await scene.work()
            try await scene.link()
            #expect(try await claims(scene) == ["10 link anna import", "11 link berta import"])
            #expect(
                try await scene.lines("SELECT concat_ws(' ', original_transaction_id, actor, note) FROM appstore.owner_links ORDER BY 1")
                    == ["10 appstore_operator import 1", "11 appstore_operator import 1"]
            )
            #expect(try await scene.lines("SELECT action || ' ' || actor FROM appstore.audit_log") == ["import appstore_operator"])
            // A link does not keep the name twice.
            #expect(try await scene.lines("SELECT id FROM appstore.import_items WHERE user_id IS NOT NULL") == [])
            #expect(try await scene.imports() == ["1 done 2 1 0 0 0 0"])
        }
    }

    @Test func `an id of a renewal belongs to the one contract of the answer, and to none of several`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"], transactions: 2), .init(["20", "21"], transactions: 2)] }
            try await scene.load("transaction_id,user_id\n1001,anna\n2001,berta\n")
            try await scene.drain()
            try await scene.work()
            try await scene.link()
            #expect(try await claims(scene) == ["10 link anna import"])
            #expect(try await scene.lines("SELECT id || ' ' || why FROM appstore.import_misses") == ["2001 contract_unclear"])
            #expect(try await scene.imports() == ["1 done 2 0 0 0 0 0"])
        }
    }

    @Test func `a user without a purchase is a miss`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { state in
                state.fault = { _ in .answer(.init(status: 200, body: Array(#"{"data":[]}"#.utf8))) }
            }
            try await scene.load("transaction_id,user_id\n10,anna\n")
            try await scene.drain()
            try await scene.link()
            #expect(try await scene.lines("SELECT concat_ws(' ', id, user_id, why) FROM appstore.import_misses") == ["10 anna not_linked"])
            #expect(try await scene.imports() == ["1 done 1 0 0 0 0 0"])
        }
    }

    @Test(arguments: [true, false]) func `a user of a file never takes what was paid with a token`(isPaidFirst: Bool) async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"])] }
            try await scene.execute("SELECT appstore.create_order('anna', 'p', '11111111-1111-4111-8111-111111111111')")
            func pay() async throws {
                try await scene.execute(
                    """
                    UPDATE appstore.transactions SET app_account_token = '11111111-1111-4111-8111-111111111111',
                        first_token = '11111111-1111-4111-8111-111111111111', purchase_date = '2026-01-01'
                    """
                )
                try await scene.execute("SELECT appstore.derive_ledger('Production', '{10}', '{10}')")
            }
            try await scene.load("transaction_id,user_id\n10,berta\n")
            try await scene.drain()
            try await scene.work()
            if isPaidFirst { try await pay() }
            try await scene.link()
            if !isPaidFirst { try await pay() }
            #expect(try await claims(scene) == ["10 order anna"])
            let misses = try await scene.lines("SELECT concat_ws(' ', id, user_id, why) FROM appstore.import_misses")
            #expect(misses == (isPaidFirst ? ["10 berta not_owner"] : []))
            #expect(try await scene.lines("SELECT count(*)::text FROM appstore.owner_links") == ["1"])
            // A command of an operator does.
            try await scene.database.withConnection(user: "appstore_operator") {
                _ = try await $0.query("SELECT appstore.link_owner('Production', '10', 'carla')")
            }
            #expect(try await claims(scene) == ["10 link carla", "10 order anna"])
        }
    }

    @Test func `a user who is forgotten is in no item and no link`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"]), .init(["20"])] }
            try await scene.load("transaction_id,user_id\n10,anna\n30,anna\n20,berta\n")
            try await scene.drain()
            try await scene.work()
            try await scene.link()
            try await scene.database.withConnection(user: "appstore_operator") {
                _ = try await $0.query("SELECT * FROM appstore.forget('anna')")
            }
            #expect(try await scene.lines("SELECT coalesce(user_id, '-') FROM appstore.import_items ORDER BY line") == ["-", "-", "-"])
            #expect(try await scene.lines("SELECT user_id FROM appstore.owner_links WHERE user_id NOT LIKE 'forgotten:%'") == ["berta"])
            #expect(try await scene.lines("SELECT note FROM appstore.owner_links WHERE note IS NOT NULL") == ["import 1"])
        }
    }
}

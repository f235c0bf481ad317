import InboxQueue
import InboxTesting
import Postgres
import Testing

@testable import Commands

@Suite struct ImportRetentionTests {
    private func step(_ task: MaintenanceTask, _ scene: ImportScene) async throws -> Int {
        try await scene.pool.withConnection { try await task.step(on: $0)?.rows } ?? 0
    }

    @Test func `bodies of imports go three days after their outcome, and no others`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"]), .init(["20"])] }
            try await scene.load("transaction_id\n10\n20\n")
            try await scene.drain()
            try await scene.work()
            #expect(try await step(.ageImportedBodies, scene) == 0)
            try await scene.execute("UPDATE appstore.outcomes SET settled_at = now() - interval '73 hours' WHERE event_id = 1")
            try await scene.execute(
                """
                WITH other AS (SELECT appstore.store('subscription_status', ARRAY['x'::bytea]) AS id)
                SELECT appstore.settle('{}', ARRAY[other.id], '{subscription_status}', ARRAY[now()], '{1}', '{1}', '{applied}',
                    ARRAY[NULL]::text[], ARRAY[NULL]::text[], ARRAY[NULL]::text[], ARRAY[NULL]::text[], ARRAY[NULL]::uuid[],
                    ARRAY[NULL]::text[], ARRAY[NULL]::text[], ARRAY[NULL]::text[], ARRAY[NULL]::text[]) FROM other
                """
            )
            try await scene.execute(
                "UPDATE appstore.outcomes SET settled_at = now() - interval '90 days' WHERE source = 'subscription_status'"
            )
            #expect(try await step(.ageImportedBodies, scene) == 1)
            #expect(try await scene.lines("SELECT event_id::text FROM appstore.inbox ORDER BY 1") == ["2", "3"])
            #expect(try await scene.lines("SELECT count(*)::text FROM appstore.outcomes") == ["3"])
            // For ever, where an operator says so.
            try await scene.database.withConnection(user: "appstore_operator") {
                _ = try await $0.query("UPDATE appstore.retention SET import_bodies = NULL")
            }
            try await scene.execute("UPDATE appstore.outcomes SET settled_at = now() - interval '4 days' WHERE event_id = 2")
            #expect(try await step(.ageImportedBodies, scene) == 0)
        }
    }

    @Test(arguments: ["failed", "rejected", "unhandled"])
    func `a body of an import whose event had no effect can be requeued as long as any other`(result: String) async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"])] }
            try await scene.load("transaction_id\n10\n", depth: "history")
            try await scene.drain()
            try await scene.work()
            try await scene.execute(
                "UPDATE appstore.outcomes SET settled_at = now() - interval '4 days', result = \(result)::appstore.result, reason = 'made_up'"
            )
            #expect(try await step(.ageImportedBodies, scene) <= 1)
            #expect(try await scene.lines("SELECT event_id::text FROM appstore.inbox") == ["1"])
            try await scene.execute("SELECT * FROM appstore.requeue_event(1, 'mended')")
        }
    }

    @Test func `a stopped import whose items are gone does not go on, and its file is a new one`() async throws {
        try await ImportScene.with { scene in
            try await scene.load("transaction_id\n10\n")
            try await scene.change(to: "stopped")
            try await scene.execute("UPDATE appstore.imports SET ended_at = now() - interval '91 days'")
            #expect(try await step(.ageImports, scene) == 1)
            await #expect(throws: PostgresError.self) { try await scene.change(to: "running") }
            #expect(try await scene.load("transaction_id\n10\n").importID == 2)
            #expect(try await scene.imports() == ["1 stopped 0 0 0 0 0 1", "2 running 0 0 0 0 0 1"])
        }
    }

    @Test func `items go 90 days after the end of their import, and the import stays`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"])] }
            try await scene.load("transaction_id\n10\n")
            try await scene.load("transaction_id\n20\n")
            try await scene.drain()
            #expect(try await step(.ageImports, scene) == 0)
            try await scene.execute("UPDATE appstore.imports SET ended_at = now() - interval '91 days' WHERE state = 'done'")
            #expect(try await step(.ageImports, scene) == 1)
            #expect(try await step(.ageImports, scene) == 0)
            #expect(try await scene.lines("SELECT id FROM appstore.import_items") == ["20"])
            #expect(try await scene.imports() == ["1 done 1 0 0 0 0 0", "2 running 0 0 0 0 1 1"])
        }
    }
}

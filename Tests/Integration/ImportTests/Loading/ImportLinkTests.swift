import InboxTesting
import Outbox
import Postgres
import Testing

@testable import Backfill

/// When a user becomes an owner, and of what.
@Suite struct ImportLinkTests {
    private func claims(_ scene: ImportScene) async throws -> [String] {
        try await scene.lines("SELECT concat_ws(' ', original_transaction_id, kind, user_id) FROM appstore.ownership_claims ORDER BY 1")
    }

    private func misses(_ scene: ImportScene) async throws -> [String] {
        try await scene.lines("SELECT concat_ws(' ', id, user_id, why) FROM appstore.import_misses ORDER BY line")
    }

    /// Lets all events but one be settled.
    private func work(_ scene: ImportScene, without event: Int64) async throws {
        try await scene.execute("UPDATE appstore.inbox_queue SET run_at = now() + interval '1 hour' WHERE event_id = \(event)")
        try await scene.work()
        try await scene.execute("UPDATE appstore.inbox_queue SET run_at = now()")
    }

    private func reject(_ scene: ImportScene, _ event: Int64) async throws {
        try await scene.execute(
            """
            SELECT appstore.settle('{}', ARRAY[i.event_id], ARRAY[i.source], ARRAY[i.received_at], '{1}', '{1}', '{rejected}', '{made_up}',
                ARRAY[NULL]::text[], ARRAY[NULL]::text[], ARRAY[NULL]::text[], ARRAY[NULL]::uuid[], ARRAY[NULL]::text[], ARRAY[NULL]::text[],
                ARRAY[NULL]::text[], ARRAY[NULL]::text[])
            FROM appstore.inbox AS i WHERE i.event_id = \(event)
            """
        )
    }

    @Test(arguments: [1, 2], ["statuses", "history"])
    func `a user waits for each event of the answer`(last: Int64, depth: String) async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["30", "40"])] }
            try await scene.load("transaction_id,user_id\n40,berta\n", depth: depth)
            try await scene.drain()
            try await work(scene, without: last)
            try await scene.link()
            #expect(try await claims(scene) == [])
            try await scene.work()
            try await scene.link()
            #expect(try await claims(scene) == ["40 link berta"])
            #expect(try await misses(scene) == [])
            #expect(try await scene.imports() == ["1 done 1 0 0 0 0 0"])
        }
    }

    @Test func `a user waits for the last page`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { state in
                state.customers = [.init(["10", "20"], transactions: 2)]
                state.pageSize = 2
            }
            // A renewal of the second contract, which is on the second page.
            try await scene.load("transaction_id,user_id\n2001,anna\n", depth: "history")
            try await scene.drain()
            try await work(scene, without: 4)
            try await scene.link()
            #expect(try await claims(scene) == [])
            try await scene.work()
            try await scene.link()
            #expect(try await claims(scene) == ["20 link anna"])
        }
    }

    @Test func `a user whose own purchase is rejected owns no other one of the answer`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["30", "40"])] }
            try await scene.load("transaction_id,user_id\n40,berta\n")
            try await scene.drain()
            try await reject(scene, 2)
            try await scene.work()
            try await scene.link()
            #expect(try await claims(scene) == [])
            #expect(try await misses(scene) == ["40 berta not_linked"])
        }
    }

    @Test func `users of ids that were found do not wait for those that fail`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { state in
                state.customers = [.init(["10"]), .init(["20"])]
                state.fault = { $0.id == "20" ? .failure(.timedOut) : nil }
            }
            try await scene.load("transaction_id,user_id\n10,anna\n20,berta\n")
            try await scene.drain()
            try await scene.work()
            try await scene.link()
            #expect(try await claims(scene) == ["10 link anna"])
            #expect(try await scene.items() == ["2 10 Production found", "3 20 Production open timed_out"])
        }
    }

    @Test func `an answer covers an id that is to be asked a day later, and its user becomes the owner at once`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"])] }
            let others = (100..<104).map { "\($0),\n" }.joined()
            try await scene.load("transaction_id,user_id\n11,anna\n\(others)10,\n")
            // Two chunks: the second one is asked when Apple knows more.
            let first = try #require(try await scene.lease().first)
            _ = try await scene.walk(first)
            for chunk in try await scene.lease(2) where chunk.firstLine == 1 { _ = try await scene.walk(chunk) }
            #expect(try await scene.lines("SELECT phase FROM appstore.import_chunks WHERE first_line = 1") == ["again"])
            scene.apple.change { $0.customers = [.init(["10", "11"])] }
            try await scene.execute("UPDATE appstore.import_chunks SET run_at = clock_timestamp() WHERE phase = 'ask'")
            try await scene.drain()
            try await scene.work()
            try await scene.link()
            #expect(try await claims(scene) == ["11 link anna"])
            #expect(try await scene.lines("SELECT phase FROM appstore.import_chunks WHERE first_line = 1") == ["again"])
        }
    }

    @Test func `what was answered before a stop has its owners`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"]), .init(["20"])] }
            try await scene.load("transaction_id,user_id\n10,anna\n20,berta\n")
            let chunk = try #require(try await scene.lease().first)
            try await scene.change(to: "stopped")
            _ = try await scene.walk(chunk)
            try await scene.work()
            try await scene.link()
            #expect(try await claims(scene) == ["10 link anna"])
            #expect(try await misses(scene) == ["20 berta not_asked"])
        }
    }

    @Test func `a user who is found in the second round does not begin it again`() async throws {
        try await ImportScene.with { scene in
            try await scene.load("transaction_id,user_id\n10,anna\n20,berta\n")
            try await scene.drain()
            try await scene.makeDue()
            scene.apple.change { $0.customers = [.init(["10"])] }
            _ = try await scene.walk(try #require(try await scene.lease().first))
            try await scene.work()
            try await scene.link()
            #expect(try await claims(scene) == ["10 link anna"])
            try await scene.drain()
            #expect(try await scene.imports() == ["1 done 1 0 1 0 0 0"])
        }
    }

    @Test func `no user waits for an outcome that retention has deleted`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"])] }
            try await scene.load("transaction_id,user_id\n10,anna\n")
            try await scene.drain()
            try await scene.work()
            try await scene.execute("DELETE FROM appstore.outcomes")
            try await scene.link()
            #expect(try await claims(scene) == ["10 link anna"])
            #expect(try await scene.imports() == ["1 done 1 0 0 0 0 0"])
        }
    }

    @Test func `a user whose id is covered while its chunk is locked becomes the owner, also after a stop`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { state in
                state.customers = [.init(["10", "11"], transactions: 2), .init(["20"])]
                state.fault = { $0.id == "11" ? .failure(.timedOut) : nil }
            }
            // Two answers name 11.
            try await scene.load("transaction_id,user_id\n10,anna\n1001,\n100,\n101,\n11,berta\n20,carla\n")
            let chunks = [try #require(try await scene.lease().first), try #require(try await scene.lease().first)]
            #expect(chunks.map(\.firstLine) == [1, 6])
            _ = try await scene.walk(chunks[1])
            try await scene.work()
            try await scene.execute("UPDATE appstore.import_chunks SET link_at = clock_timestamp() WHERE link_at IS NOT NULL")
            // The second chunk makes its users owners while the first one's answer covers another one.
            try await scene.database.withConnection { connection in
                try await connection.withTransaction { transaction in
                    _ = try await transaction.query("SELECT appstore.link_import_owners()")
                    _ = try await scene.walk(chunks[0])
                }
            }
            #expect(try await scene.items().contains("6 11 Production covered"))
            try await scene.change(to: "stopped")
            #expect(try await misses(scene).contains("11 berta not_linked"))
            try await scene.work()
            try await scene.link()
            #expect(try await claims(scene) == ["10 link anna", "11 link berta", "20 link carla"])
            #expect(try await misses(scene).allSatisfy { $0.hasSuffix(" not_asked") })
            #expect(try await scene.lines("SELECT line::text FROM appstore.import_links_due") == [])
        }
    }

    /// Lets the database refuse links of a user.
    private func refuse(_ user: String, with state: String, _ scene: ImportScene) async throws {
        try await scene.database.withConnection { connection in
            try await connection.runScript(
                """
                CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql
                AS $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '\(state)'; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON appstore.owner_links
                FOR EACH ROW WHEN (NEW.user_id = '\(user)') EXECUTE FUNCTION public.refuse();
                """
            )
        }
    }

    @Test(arguments: ["21000", "22003", "23514", "54000", "P0001", "P0002"])
    func `a link that the database refuses keeps no other user from becoming the owner`(state: String) async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"]), .init(["20"])] }
            try await scene.load("transaction_id,user_id\n10,anna\n20,berta\n")
            try await scene.drain()
            try await scene.work()
            try await refuse("anna", with: state, scene)
            try await scene.link()
            #expect(try await claims(scene) == ["20 link berta"])
            #expect(try await misses(scene) == ["10 anna database_\(state)"])
            #expect(try await scene.imports() == ["1 done 2 0 0 0 0 0"])
        }
    }

    @Test(arguments: ["40P01", "53100", "55P03"])
    func `a link that the data do not cause to fail is made later`(state: String) async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"])] }
            try await scene.load("transaction_id,user_id\n10,anna\n")
            try await scene.drain()
            try await scene.work()
            try await refuse("anna", with: state, scene)
            await #expect(throws: PostgresError.self) { try await scene.link() }
            try await scene.execute("DROP TRIGGER refuse ON appstore.owner_links")
            try await scene.link()
            #expect(try await claims(scene) == ["10 link anna"])
        }
    }

    @Test func `of two users of one contract one becomes the owner, and the other is a miss`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"], transactions: 2)] }
            try await scene.load("transaction_id,user_id\n10,anna\n1001,berta\n")
            try await scene.drain()
            try await scene.work()
            try await scene.link()
            #expect(try await claims(scene) == ["10 link anna"])
            #expect(try await misses(scene) == ["1001 berta not_owner"])
        }
    }
}

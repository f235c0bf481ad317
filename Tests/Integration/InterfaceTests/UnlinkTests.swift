import Foundation
import InboxTesting
import Postgres
import Testing

/// `unlink_owner`: links are taken back.
struct UnlinkTests {
    /// Links contract 1000 as an operator does.
    private func link(to user: String, _ ledger: TestLedger) async throws {
        try await ledger.run("SELECT appstore.link_owner('Production', '1000', \(user), 'ticket 1')", as: "appstore_operator")
    }

    private func unlink(_ ledger: TestLedger) async throws -> String? {
        try await ledger.database.withConnection(user: "appstore_operator") { connection in
            try await connection.query("SELECT appstore.unlink_owner('Production', '1000', 'ticket 2') AS owner")[0].decode("owner")
        }
    }

    @Test func `the owner before the links returns, with the periods since`() async throws {
        try await TestLedger.with { ledger in
            let order = UUID()
            try await ledger.makeOrder(order, user: "anna")
            try await ledger.put(Charge("1000", onDay: 0, token: order))
            try await link(to: "bob", ledger)
            try await link(to: "carol", ledger)
            try await ledger.run(
                Charge("1001", onDay: 30).with { $0.contract = "1000" }.statement
            )
            try await ledger.run("UPDATE appstore.transactions SET purchase_date = now() + interval '1 day' WHERE transaction_id = '1001'")
            try await ledger.run("SELECT appstore.derive_ledger('Production', ARRAY['1001'], '{}')")
            let users: Statement = "SELECT transaction_id || ' ' || user_id FROM appstore.orders ORDER BY 1"
            #expect(try await ledger.lines(users) == ["1000 anna", "1001 carol"])
            #expect(try await unlink(ledger) == "anna")
            #expect(try await ledger.lines(users) == ["1000 anna", "1001 anna"])
            #expect(try await ledger.lines("SELECT kind || ' ' || user_id FROM appstore.ownership_claims") == ["order anna"])
            try await link(to: "dora", ledger)
            #expect(try await ledger.lines("SELECT user_id FROM appstore.contracts") == ["dora"])
        }
    }

    @Test func `a contract without another claim has no owner, and a person must decide again`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0))
            try await link(to: "bob", ledger)
            #expect(try await ledger.lines("SELECT reason FROM appstore.unmatched") == [])
            #expect(try await unlink(ledger) == nil)
            #expect(try await ledger.lines("SELECT reason || ' ' || original_transaction_id FROM appstore.unmatched") == ["no_user 1000"])
            let what = try await ledger.lines("SELECT what FROM appstore.timeline('Production', '1000') WHERE what LIKE '%linked'")
            #expect(what == ["linked", "unlinked"])
        }
    }

    @Test func `a conflict that a link resolved returns`() async throws {
        try await TestLedger.with { ledger in
            let order = UUID()
            try await ledger.makeOrder(order, user: "anna")
            try await ledger.put(Charge("1000", onDay: 0, token: order))
            try await ledger.submit("1000", by: "bob", onDay: 1)
            let conflicts: Statement = "SELECT reason || ' ' || user_id || ' ' || owner_user_id FROM appstore.unmatched"
            #expect(try await ledger.lines(conflicts) == ["owner_conflict bob anna"])
            try await link(to: "anna", ledger)
            #expect(try await ledger.lines(conflicts) == [])
            #expect(try await unlink(ledger) == "anna")
            #expect(try await ledger.lines(conflicts) == ["owner_conflict bob anna"])
        }
    }

    @Test func `a consumable is unlinked, too`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("coins", "Consumable", "1000", onDay: 0))
            try await link(to: "bob", ledger)
            #expect(try await ledger.lines("SELECT user_id FROM appstore.payments WHERE user_id = 'bob'") == ["bob"])
            #expect(try await unlink(ledger) == nil)
            #expect(try await ledger.lines("SELECT user_id FROM appstore.payments WHERE user_id = 'bob'") == [])
        }
    }

    @Test func `without a link it fails, and changes nothing`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0))
            for _ in 1...2 {
                let error = await #expect(throws: PostgresError.self) { _ = try await unlink(ledger) }
                #expect(error?.sqlState?.rawValue == "P0002")
                #expect(error?.message == "no link is in force in Production for original_transaction_id '1000'")
                #expect(try await ledger.lines("SELECT action FROM appstore.audit_log WHERE action = 'unlink_owner'") == [])
            }
            #expect(try await ledger.lines("SELECT link_id::text FROM appstore.owner_links") == [])
        }
    }

    /// Unlinks while another session has an open transaction, which commits once `unlink_owner` waits for it.
    private func unlink(_ ledger: TestLedger, beside command: Statement) async throws -> String? {
        try await ledger.database.withConnection(user: "appstore_operator") { connection in
            let backend = try await connection.query("SELECT pg_backend_pid()")[0].decode(0, as: Int32.self)
            return try await withThrowingTaskGroup(of: String?.self) { group in
                try await connection.withTransaction { transaction in
                    _ = try await transaction.query(command)
                    group.addTask { try await unlink(ledger) }
                    try await ForgetScene.awaitWaiting(for: backend, in: ledger)
                }
                return try await group.next() ?? nil
            }
        }
    }

    /// The user of each link in the audit log.
    private let audited: Statement = "SELECT action || ' ' || (details ->> 'user_id') FROM appstore.audit_log ORDER BY audit_id"

    @Test func `of two concurrent calls the second fails, since nothing is left to take back`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0))
            try await link(to: "bob", ledger)
            let error = await #expect(throws: PostgresError.self) {
                _ = try await unlink(ledger, beside: "SELECT appstore.unlink_owner('Production', '1000')")
            }
            #expect(error?.sqlState?.rawValue == "P0002")
            #expect(try await ledger.lines(audited) == ["link_owner bob", "unlink_owner bob"])
        }
    }

    @Test func `a link that is made meanwhile is taken back, too, and the audit log names its user`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0))
            try await link(to: "bob", ledger)
            #expect(try await unlink(ledger, beside: "SELECT appstore.link_owner('Production', '1000', 'carol')") == nil)
            #expect(try await ledger.lines("SELECT user_id FROM appstore.ownership_claims") == [])
            #expect(try await ledger.lines(audited) == ["link_owner bob", "link_owner carol", "unlink_owner carol"])
        }
    }

    @Test func `who was linked by mistake is forgotten without the events of the contract`() async throws {
        try await TestLedger.with { ledger in
            let order = UUID()
            try await ledger.makeOrder(order, user: "anna")
            try await ledger.put(Charge("1000", onDay: 0, token: order))
            try await ledger.run("INSERT INTO appstore.inbox (source, received_at, body) VALUES ('notification_v2', now(), 'about 1000')")
            try await ledger.run(
                """
                INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, environment, original_transaction_id)
                SELECT event_id, source, received_at, now(), 1, 1, 'applied', 'Production', '1000' FROM appstore.inbox
                """
            )
            try await link(to: "bob", ledger)
            #expect(try await unlink(ledger) == "anna")
            try await link(to: "carol", ledger)
            _ = try await ForgetScene.forget("bob", in: ledger)
            #expect(try await ledger.lines("SELECT user_id FROM appstore.owner_links WHERE note IS NOT NULL") == ["carol"])
            #expect(try await ledger.lines("SELECT convert_from(body, 'UTF8') FROM appstore.inbox") == ["about 1000"])
            #expect(try await ForgetScene.tables(with: "bob", in: ledger) == [])
            _ = try await ForgetScene.forget("anna", in: ledger)
            #expect(try await ledger.lines("SELECT convert_from(body, 'UTF8') FROM appstore.inbox") == [])
        }
    }

    /// The row of the audit log about the unlinking names carol, whose link was the latest.
    @Test func `a user who is forgotten takes the notes of the user's links along, of both records, and no others`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0))
            for user in ["anna", "bob", "carol"] { try await link(to: user, ledger) }
            _ = try await unlink(ledger)
            try await link(to: "dora", ledger)
            _ = try await ForgetScene.forget("bob", in: ledger)
            let linked = try await ledger.lines("SELECT user_id FROM appstore.owner_links WHERE note IS NOT NULL ORDER BY link_id")
            #expect(linked == ["anna", "carol", "dora"])
            let audited = try await ledger.lines(
                """
                SELECT concat_ws(' ', action, details ->> 'user_id') FROM appstore.audit_log
                WHERE action LIKE '%link_owner' AND note IS NOT NULL ORDER BY audit_id
                """
            )
            #expect(audited == linked.map { "link_owner \($0)" })
        }
    }

    @Test func `the audit log says who linked what to whom, until the user is forgotten`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0))
            try await link(to: "bob", ledger)
            _ = try await unlink(ledger)
            let entries: Statement = """
                SELECT concat_ws(' ', actor, action, note, details ->> 'original_transaction_id', split_part(details ->> 'user_id', ':', 1))
                FROM appstore.audit_log WHERE action LIKE '%link_owner' ORDER BY audit_id
                """
            let written = ["appstore_operator link_owner ticket 1 1000 ", "appstore_operator unlink_owner ticket 2 1000 "]
            #expect(try await ledger.lines(entries) == written.map { $0 + "bob" })
            _ = try await ForgetScene.forget("bob", in: ledger)
            #expect(
                try await ledger.lines(entries) == [
                    "appstore_operator link_owner 1000 forgotten", "appstore_operator unlink_owner 1000 forgotten",
                ]
            )
            #expect(try await ledger.lines("SELECT note FROM appstore.owner_links WHERE note IS NOT NULL") == [])
            #expect(try await ForgetScene.tables(with: "bob", in: ledger) == [])
        }
    }
}

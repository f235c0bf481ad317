import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import Testing

extension EndToEndInterfaces {
    /// `appstore-inbox requeue` and `discard`.
    @Suite struct RepairCommandTests {
        /// An installation with that many rejected events in its inbox.
        private func withRejected(_ count: Int, _ body: (Installation, [String: String]) async throws -> Void) async throws {
            try await Installation.lend { installation in
                try await installation.sql.execute(
                    """
                    WITH stored AS (
                        INSERT INTO appstore.inbox (source, received_at, body)
                        SELECT 'notification_v2', now(), '\\x7b7d' FROM generate_series(1, \(count)) RETURNING *
                    )
                    INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason)
                    SELECT event_id, source, received_at, now(), 1, 1, 'rejected', 'no_signed_payload' FROM stored
                    """
                )
                try await body(installation, ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: "appstore_operator")])
            }
        }

        @Test func `a few events are counted, requeued and discarded at once`() async throws {
            try await withRejected(30) { installation, settings in
                let counted = try await Program.run(["requeue", "--outcome", "rejected", "--dry-run", "--json"], settings: settings)
                #expect(counted.ending == .exit(0), "\(counted.errors)")
                #expect(try counted.json().number("events") == "30")
                #expect(counted.output.contains(#""results":{"rejected":30}"#), "\(counted.output)")
                let named = try await Program.run(["requeue", "1", "3-5", "--note", "look again"], settings: settings)
                #expect((named.ending, named.output) == (.exit(0), "4 events are requeued (4 rejected).\n"))
                let discarded = try await Program.run(["discard", "--reason", "no_signed_payload", "--note", "junk"], settings: settings)
                #expect((discarded.ending, discarded.output) == (.exit(0), "26 events are discarded (26 rejected).\n"))
                #expect(
                    try await installation.sql.values(
                        "SELECT concat_ws(' ', actor, action, cardinality(event_ids), note) FROM appstore.audit_log ORDER BY audit_id"
                    ).suffix(2) == ["appstore_operator requeue 1 look again", "appstore_operator discard 26 junk"]
                )
            }
        }

        @Test func `many events are requeued in steps while the command shows its progress`() async throws {
            let shop = try Shop()
            try await withRejected(2500) { installation, settings in
                _ = try await installation.startWorker(for: shop)
                let unasked = try await Program.run(["requeue", "--outcome", "rejected", "--json"], settings: settings)
                #expect(unasked.ending == .exit(2) && unasked.errors.contains("2500 events would be changed (2500 rejected): add --yes"))
                let done = try await Program.run(["requeue", "--outcome", "rejected", "--json", "--yes"], settings: settings)
                #expect(done.ending == .exit(0), "\(done.errors)")
                let lines = try done.output.split(separator: "\n").map { try JSONDocument(String($0)) }
                let first = try #require(lines.first), last = try #require(lines.last)
                // The worker takes steps, too.
                #expect((first.text("state"), first.number("expected")) == ("running", "2500"))
                #expect(["1000", "2000"].contains(first.number("repaired")), "\(done.output)")
                #expect((last.text("state"), last.number("repaired")) == ("done", "2500"))
                try await eventually("all have run twice") {
                    try await installation.sql.value(Int.self, "SELECT count(*) FROM appstore.outcomes WHERE run = 2") == 2500
                }
            }
        }

        @Test func `a repair that an operator stops ends the command`() async throws {
            try await withRejected(1500) { installation, settings in
                // Without a worker the command waits after its first step.
                let ended = try await Program.run(["requeue", "--outcome", "rejected", "--json", "--yes"], settings: settings) { _ in
                    try await eventually("the first step is committed") {
                        try await installation.sql.value(Int.self, "SELECT count(*) FROM appstore.inbox_queue") == 1000
                    }
                    try await installation.sql.execute("SELECT appstore.stop_repair(1, 'enough')")
                }
                #expect(ended.ending == .exit(1), "\(ended.errors)")
                let last = try JSONDocument(String(try #require(ended.output.split(separator: "\n").last)))
                #expect((last.text("state"), last.number("repaired")) == ("stopped", "1000"))
            }
        }

        @Test func `many events are discarded without a worker`() async throws {
            try await withRejected(1500) { installation, settings in
                let done = try await Program.run(["discard", "--outcome", "rejected", "--note", "junk", "--yes"], settings: settings)
                #expect(done.ending == .exit(0), "\(done.errors)")
                #expect(done.output.hasPrefix("1500 events (1500 rejected) will be discarded in steps."), "\(done.output)")
                #expect(done.output.hasSuffix("1500 events are discarded (1500 rejected).\n"), "\(done.output)")
                #expect(
                    try await installation.sql.values("SELECT cardinality(event_ids)::text FROM appstore.audit_log ORDER BY audit_id")
                        == [
                            "1000", "500",
                        ]
                )
            }
        }

        @Test func `a repair goes on without the command that began it, and is not begun twice`() async throws {
            let shop = try Shop()
            try await withRejected(2500) { installation, settings in
                // Without a worker the command waits after its first step.
                let ended = try await Program.run(["requeue", "--outcome", "rejected", "--json", "--yes"], settings: settings) { requeue in
                    try await eventually("the first step is committed") {
                        try await installation.sql.value(Int.self, "SELECT count(*) FROM appstore.inbox_queue") == 1000
                    }
                    requeue.signal(SIGINT)
                }
                #expect(ended.ending != .exit(0))
                let again = try await Program.run(["requeue", "--outcome", "rejected", "--json", "--yes"], settings: settings)
                #expect(again.ending == .exit(2) && again.errors.contains("repair 1 does the same and is running"), "\(again.errors)")
                _ = try await installation.startWorker(for: shop)
                try await installation.sql.awaitRun(2, of: 2500)
                try await installation.sql.expectEachEventAccountedFor()
            }
        }

        @Test func `an impossible repair names the reason and has the usual exit code`() async throws {
            try await withRejected(1) { installation, settings in
                for (arguments, code, words) in [
                    (["requeue", "99"], 1, "99"), (["requeue"], 2, "--outcome"), (["requeue", "x"], 2, "\"x\""),
                    (["requeue", "--outcome", "lost"], 2, "lost"), (["requeue", "--environment", "Sandbx"], 2, "appstore.environment"),
                    (["requeue", "1", "--outcome", "failed"], 2, "either"),
                    (["discard", "1"], 2, "--note"),
                    (["requeue", "--from", "yesterday"], 2, "--from must be an instant such as 2026-01-31T12:00:00Z"),
                    (["requeue", "--before", "2026-02-30T00:00:00Z"], 2, "--before must be an instant such as 2026-01-31T12:00:00Z"),
                    (["requeue", "1", "1-9223372036854775807"], 2, "1,000"),
                ] {
                    let result = try await Program.run(arguments, settings: settings)
                    #expect(result.ending == .exit(Int32(code)), "\(arguments): \(result.errors)")
                    #expect((result.errors + result.output).contains(words), "\(arguments): \(result.errors)\(result.output)")
                }
                let viewer = ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: "appstore_viewer")]
                #expect(try await Program.run(["requeue", "--outcome", "rejected"], settings: viewer).ending == .exit(1))
            }
        }
    }
}

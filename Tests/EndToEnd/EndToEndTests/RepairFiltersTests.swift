import EndToEndTesting
import Postgres
import PostgresTesting
import Testing

extension EndToEndInterfaces {
    /// The filters of `appstore-inbox requeue` and `discard`; each splits the events in another way.
    @Suite struct RepairFiltersTests {
        /// Conditions, and the events that match them.
        struct Filter: Sendable, CustomTestStringConvertible {
            let arguments: [String]
            private let fits: @Sendable (Int) -> Bool

            init(_ arguments: [String], fits: @escaping @Sendable (Int) -> Bool) {
                self.arguments = arguments
                self.fits = fits
            }

            /// The matching events of 1…count.
            func events(of count: Int) -> [String] {
                (1...count).filter(fits).map { "\($0)" }
            }

            var testDescription: String { arguments.joined(separator: " ") }
        }

        /// An event's kind follows from the digits of its number, and its time of receipt from the number modulo five; see
        /// ``withEvents(_:_:)``.
        static let single: [Filter] = [
            Filter(["--outcome", "failed"]) { $0 & 1 != 0 },
            Filter(["--reason", "merge_failed"]) { $0 & 2 != 0 },
            Filter(["--type", "REFUND"]) { $0 & 4 != 0 },
            Filter(["--subtype", "VOLUNTARY"]) { $0 & 8 != 0 },
            Filter(["--environment", "Sandbox"]) { $0 & 16 != 0 },
            Filter(["--app", "com.example.one"]) { $0 & 32 != 0 },
            Filter(["--from", "2024-03-01T12:00:02Z"]) { $0 % 5 >= 2 },
            Filter(["--before", "2024-03-01T12:00:03Z"]) { $0 % 5 < 3 },
        ]

        static let window = Filter(["--from", "2024-03-01T12:00:01Z", "--before", "2024-03-01T12:00:04Z"]) { (1..<4).contains($0 % 5) }

        static let all = Filter([
            "--outcome", "failed", "--reason", "merge_failed", "--type", "REFUND", "--subtype", "VOLUNTARY", "--environment", "Sandbox",
            "--app", "com.example.one", "--from", "2024-03-01T12:00:01Z", "--before", "2024-03-01T12:00:04Z",
        ]) { $0 & 63 == 63 && (1..<4).contains($0 % 5) }

        static let singleAndCombined: [Filter] = single + [window, all]

        @Test(arguments: singleAndCombined, ["requeue", "discard"])
        func `a repair changes exactly the events that match its conditions`(filter: Filter, action: String) async throws {
            try await withEvents(320) { installation, settings in
                let done = try await Program.run([action] + filter.arguments + ["--note", "by test", "--json"], settings: settings)
                #expect(done.ending == .exit(0), "\(done.errors)")
                let expected = filter.events(of: 320)
                #expect(try done.json().number("repaired") == "\(expected.count)")
                let found = try await repaired(in: installation)
                #expect(difference(found, expected) == [])
            }
        }

        /// With conditions that match enough events for more than one step.
        @Test(arguments: [single[0], window])
        func `a repair in steps changes exactly the events that match its conditions`(filter: Filter) async throws {
            let shop = try Shop()
            try await withEvents(2560) { installation, settings in
                _ = try await installation.startWorker(for: shop)
                let done = try await Program.run(["requeue"] + filter.arguments + ["--json", "--yes"], settings: settings)
                #expect(done.ending == .exit(0), "\(done.errors)")
                let expected = filter.events(of: 2560)
                let last = try JSONDocument(String(done.output.split(separator: "\n").last ?? ""))
                #expect(last.text("state") == "done")
                #expect(last.number("repaired") == "\(expected.count)")
                #expect(
                    try await installation.sql.values("SELECT sum(cardinality(event_ids))::text FROM appstore.audit_log") == [
                        "\(expected.count)"
                    ]
                )
                let found = try await repaired(in: installation)
                #expect(difference(found, expected) == [])
            }
        }

        /// The events whose outcome was replaced, in order.
        private func repaired(in installation: Installation) async throws -> [String] {
            try await installation.sql.values("SELECT h.event_id::text FROM appstore.outcome_history AS h ORDER BY h.event_id, h.run")
        }

        /// Lends an installation with that many rejected or failed events.
        private func withEvents(_ count: Int, _ body: (Installation, [String: String]) async throws -> Void) async throws {
            try await Installation.lend { installation in
                try await installation.sql.execute(
                    """
                    WITH stored AS (
                        INSERT INTO appstore.inbox (event_id, source, received_at, body)
                        SELECT numbered.id, 'notification_v2', timestamptz '2024-03-01 12:00:00Z' + numbered.id % 5 * interval '1 second',
                               '\\x7b7d'
                        FROM (SELECT nextval('appstore.inbox_event_id') AS id FROM generate_series(1, \(count)) OFFSET 0) AS numbered
                        RETURNING *
                    )
                    INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason,
                                                   notification_type, subtype, environment, bundle_id)
                    SELECT event_id, source, received_at, received_at, 1, 1,
                           (CASE event_id & 1 WHEN 0 THEN 'rejected' ELSE 'failed' END)::appstore.result,
                           CASE event_id & 2 WHEN 0 THEN 'wrong_bundle' ELSE 'merge_failed' END,
                           CASE event_id & 4 WHEN 0 THEN 'DID_RENEW' ELSE 'REFUND' END,
                           CASE event_id & 8 WHEN 0 THEN 'BILLING_RECOVERY' ELSE 'VOLUNTARY' END,
                           CASE event_id & 16 WHEN 0 THEN 'Production' ELSE 'Sandbox' END,
                           CASE event_id & 32 WHEN 0 THEN 'com.example.two' ELSE 'com.example.one' END
                    FROM stored
                    """
                )
                #expect(try await installation.sql.values("SELECT max(event_id)::text FROM appstore.inbox") == ["\(count)"])
                try await body(installation, ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: "appstore_operator")])
            }
        }
    }
}

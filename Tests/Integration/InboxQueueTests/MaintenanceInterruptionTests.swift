import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Workers that die within a step of maintenance, whichever it is.
@Suite(.timeLimit(.minutes(2)))
struct MaintenanceInterruptionTests {
    @Test(arguments: MaintenanceTask.allCases)
    func `a step that a worker dies in has changed nothing, and the next one goes on to the same end`(task: MaintenanceTask) async throws {
        let untroubled = try await makeDatabase(for: task)
        let expected = try await MaintenanceBench.finish(task, in: untroubled)
        try #require(expected.count > 1, "there is no step between the first and the last")

        let database = try await makeDatabase(for: task)
        var steps: [MaintenanceTask.Step] = []
        // After the last one there is nothing to do.
        for _ in 0...expected.count {
            let before = try await state(of: database)
            let lost = try await dieWithin(task, in: database)
            let after = try await state(of: database)
            #expect(after == before)
            #expect(try await database.eventsNotExactlyOnce() == [])
            let step = try await MaintenanceBench.step(task, in: database)
            #expect(step == lost, "what was lost is done first")
            if let step { steps.append(step) }
        }
        #expect(steps == expected)
        let (end, expectedEnd) = (try await state(of: database), try await state(of: untroubled))
        #expect(end == expectedEnd)
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test(arguments: [MaintenanceTask.ageCalls, .answerConsumption])
    func `a task with a deadline takes its steps while another task holds the lock of maintenance`(task: MaintenanceTask) async throws {
        let database = try await makeDatabase(for: task)
        try await database.withConnection { connection in
            try await connection.withTransaction { transaction in
                _ = try await transaction.query("SELECT appstore.maintenance_lock()")
                #expect(try await MaintenanceBench.step(task, in: database) != nil)
            }
        }
    }

    /// Takes a step and dies before its commit; returns what the step would have done.
    private func dieWithin(_ task: MaintenanceTask, in database: TestDatabase) async throws -> MaintenanceTask.Step? {
        let lost = try await database.withConnection(user: "appstore_worker") { connection in
            var step: MaintenanceTask.Step?
            await #expect(throws: PostgresError.self) {
                try await connection.withTransaction { transaction in
                    step = try await task.step(in: transaction)
                    _ = try await transaction.query("SELECT pg_terminate_backend(pg_backend_pid())")
                }
            }
            return step
        }
        try await MaintenanceBench.awaitEndOfWorkers(database)
        return lost
    }

    /// What a step of any task may change, but for times and for what comes of sequences, which do not go back.
    private func state(of database: TestDatabase) async throws -> [String] {
        try await database.lines(
            """
            SELECT concat_ws(' ', 'bodies', i.tableoid::regclass, count(*),
                             md5(string_agg(i.source || encode(i.body, 'hex'), ',' ORDER BY i.source, i.body))) AS line
            FROM appstore.inbox AS i GROUP BY i.tableoid
            UNION ALL SELECT concat_ws(' ', 'waiting', count(*)) FROM appstore.inbox_queue
            UNION ALL SELECT concat_ws(' ', 'decisions', count(*), count(DISTINCT transaction_id)) FROM appstore.consumption_decisions
            UNION ALL
            SELECT concat_ws(' ', 'outcomes', count(*), md5(string_agg(o.event_id || '-' || o.run, ',' ORDER BY o.event_id)))
            FROM appstore.outcomes AS o
            UNION ALL
            SELECT concat_ws(' ', 'history', count(*), md5(string_agg(h.event_id || '-' || h.run, ',' ORDER BY h.event_id, h.run)))
            FROM appstore.outcome_history AS h
            UNION ALL SELECT concat_ws(' ', 'contracts', count(*)) FROM appstore.event_contracts
            UNION ALL SELECT concat_ws(' ', 'seen', count(*)) FROM appstore.seen_notifications
            UNION ALL
            SELECT concat_ws(' ', 'calls', c.state, c.reason, c.fallback_event_id IS NOT NULL, count(*)) FROM appstore.outbox AS c
            GROUP BY c.state, c.reason, c.fallback_event_id IS NOT NULL
            UNION ALL SELECT concat_ws(' ', 'partition', p.parent, p.partition, p.from_id, p.to_id, p.is_past) FROM appstore.inbox_partitions AS p
            UNION ALL
            SELECT concat_ws(' ', 'table', c.relname) FROM pg_class AS c WHERE c.relkind = 'r' AND c.relname ~ '^(aged|feed_from)_'
            UNION ALL SELECT concat_ws(' ', 'items', count(*), min(i.line), (SELECT count(*) FROM appstore.imports)) FROM appstore.import_items AS i
            UNION ALL SELECT concat_ws(' ', 'attempts', count(*), min(a.attempt_id)) FROM appstore.delivery_attempts AS a
            UNION ALL SELECT concat_ws(' ', 'maintenance', m.task, m.event_id, m.kept) FROM appstore.maintenance_state AS m
            UNION ALL SELECT concat_ws(' ', 'audit', a.action, a.details) FROM appstore.audit_log AS a
            ORDER BY line
            """
        )
    }

    /// A database in which the task has work for more than one step.
    private func makeDatabase(for task: MaintenanceTask) async throws -> TestDatabase {
        let isPartitioned = task == .preparePartitions || task == .dropPartition
        let database = try await isPartitioned ? MaintenanceBench.partitioned() : InboxDatabase.make()
        try await MaintenanceBench.execute(
            "UPDATE appstore.retention SET bodies = '30 days', outcomes = '30 days', partition_events = 1000",
            in: database
        )
        switch task {
        case .preparePartitions:
            try await MaintenanceBench.settled(10, result: "applied", age: "5 days", in: database)
        case .dropPartition:
            try await MaintenanceBench.settled(1500, result: "applied", age: "40 days", in: database)
            let young = "UPDATE appstore.outcomes SET settled_at = now() WHERE event_id IN (1000007, 1000500)"
            try await MaintenanceBench.execute(young, in: database)
        case .ageRejectedBodies:
            try await MaintenanceBench.settled(700, result: "rejected", labels: false, age: "2 days", in: database)
        case .ageDefaultBodies:
            try await MaintenanceBench.dropFirstPartitions(in: database)
            try await MaintenanceBench.settled(700, result: "applied", age: "40 days", in: database)
        case .ageRejectedOutcomes:
            try await MaintenanceBench.settled(700, result: "rejected", labels: false, age: "40 days", in: database)
            try await addRuns(database)
        case .ageDefaultOutcomes:
            try await MaintenanceBench.dropFirstPartitions(in: database)
            try await MaintenanceBench.settled(700, result: "applied", age: "40 days", in: database)
            try await MaintenanceBench.execute("DELETE FROM appstore.inbox", in: database)
            try await addRuns(database)
        case .ageNotifications:
            try await MaintenanceBench.seen(40_000, daysAgo: 300, in: database)
        case .ageCalls:
            try await addCalls(database)
        case .ageFeed:
            try await addEntries(database)
        case .ageDeliveries:
            try await MaintenanceBench.execute(
                """
                INSERT INTO appstore.delivery_attempts (endpoint, position, at, is_redelivery, result)
                SELECT 'crm', n, now() - interval '40 days', false, CASE n % 3 WHEN 0 THEN 'failed' ELSE 'delivered' END
                FROM generate_series(1, 4000) AS n
                """,
                in: database
            )
        case .answerConsumption:
            try await addConsumptionRequests(database)
        case .ageHistory:
            try await MaintenanceBench.execute(
                """
                INSERT INTO appstore.history_records (environment, notification_uuid, bundle_id, class, is_open, mode, window_id, listed_at, attempts)
                SELECT 'Production', gen_random_uuid(), 'b', 'confirmed', false, 'walk', 1, now() - interval '40 days', 1
                FROM generate_series(1, 4000)
                """,
                in: database
            )
        case .ageImportedBodies:
            try await MaintenanceBench.settled(700, result: "applied", age: "4 days", in: database)
            try await MaintenanceBench.execute("UPDATE appstore.outcomes SET source = 'imported_status'", in: database)
        case .ageImports:
            try await MaintenanceBench.execute(
                """
                INSERT INTO appstore.imports (bundle_id, depth, file_name, made_by, touched_at)
                VALUES ('b', 'statuses', 'f', 'by_test', now() - interval '2 hours');
                INSERT INTO appstore.import_items (import_id, line, environment, is_given, id)
                SELECT 1, n, 'Production', false, n::text FROM generate_series(1, 7000) AS n
                """,
                in: database
            )
        }
        return database
    }

    /// Seven hundred requests of one user, due in an hour, and a policy that answers them.
    private func addConsumptionRequests(_ database: TestDatabase) async throws {
        for statement in [
            """
            INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
                purchase_date, signed_date, payload_hash, first_signed_date, period_no, is_subscription)
            SELECT 'Production', n::text, n::text, 'b', 'p', 'Consumable', now(), now(), '\\x01', now(), gen_random_uuid(), false
            FROM generate_series(1, 700) AS n
            """,
            """
            INSERT INTO appstore.contracts (environment, original_transaction_id, user_id)
            SELECT 'Production', n::text, 'anna' FROM generate_series(1, 700) AS n
            """,
            """
            INSERT INTO appstore.consumption_obligations (environment, transaction_id, original_transaction_id, asked_at, due_at)
            SELECT 'Production', n::text, n::text, now() - interval '11 hours', now() + interval '1 hour' FROM generate_series(1, 700) AS n
            """,
            """
            INSERT INTO appstore.consumption_policies (bundle_id, mode, delivery, sample, percentage, preference)
            VALUES ('b', 'default', 'DELIVERED', false, 100000, 'DECLINE')
            """,
            "INSERT INTO appstore.consents (user_id, given_at, given_by, evidence) VALUES ('anna', now(), 'shop', 'terms 7')",
        ] {
            try await MaintenanceBench.execute(statement, in: database)
        }
    }

    /// Every event has run before, and was about a contract.
    private func addRuns(_ database: TestDatabase) async throws {
        try await MaintenanceBench.execute(
            """
            INSERT INTO appstore.outcome_history SELECT o.settled_at, 'by_test', o.* FROM appstore.outcomes AS o;
            UPDATE appstore.outcomes SET run = 2;
            INSERT INTO appstore.event_contracts (environment, original_transaction_id, event_id)
            SELECT 'Production', '1', event_id FROM appstore.outcomes;
            """,
            in: database
        )
    }

    /// Calls that were settled long ago, calls whose deadline has passed, and two whose events are still needed.
    private func addCalls(_ database: TestDatabase) async throws {
        try await MaintenanceBench.settled(2, result: "no_effect", age: "2 minutes", in: database)
        try await MaintenanceBench.execute(
            """
            UPDATE appstore.inbox SET source = 'client_receipt', body = convert_to('{"receiptData": "AA=="}', 'UTF8');
            INSERT INTO appstore.outbox (kind, call_key, bundle_id, event_id, fallback_source, asked_at, deadline_at)
            SELECT 'verify_receipt', 'awaited ' || event_id, 'b', event_id, 'unanswered_receipt', now() - interval '2 minutes',
                   now() + interval '1 day'
            FROM appstore.inbox;
            INSERT INTO appstore.outbox (kind, call_key, bundle_id, payload, deadline_at, run_at)
            SELECT 'verify_receipt', 'late ' || n, 'b', '\\x01', now() - interval '2 hours', now() - interval '2 hours'
            FROM generate_series(1, 3) AS n;
            INSERT INTO appstore.outbox (kind, call_key, bundle_id, payload, asked_at, deadline_at, state, reason, settled_at)
            SELECT 'verify_receipt', 'settled ' || n, 'b', '\\x01', now() - interval '90 days', now() - interval '89 days', 'refused', 'x',
                   now() - interval '40 days'
            FROM generate_series(1, 700) AS n;
            """,
            in: database
        )
    }

    /// Two partitions of the feed that have aged, and the newest one, which stays.
    private func addEntries(_ database: TestDatabase) async throws {
        try await MaintenanceBench.execute(
            """
            SELECT appstore.enable_feed();
            INSERT INTO appstore.tells (kind, ref) SELECT 'forgotten', n::text FROM generate_series(1, 30001) AS n;
            SELECT appstore.sequence_feed(40000);
            UPDATE appstore.feed SET told_at = now() - interval '40 days';
            """,
            in: database
        )
    }
}

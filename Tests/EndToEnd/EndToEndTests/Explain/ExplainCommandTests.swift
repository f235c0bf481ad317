import AppStore
import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator
import StrictJSON
import Testing

extension EndToEnd {
    /// The output of `explain` for each outcome, and for events without one.
    @Suite struct ExplainCommandTests {
        @Test func `a duplicate is explained by the event that came first`() async throws {
            var shop = try Shop()
            let purchase = try shop.purchases(1)[0]
            let body = try shop.body(purchase)
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await installation.startWorker(for: shop)
                _ = try await ingest.client.post(body)
                let first = try await sql.settled(1)[0].eventID
                _ = try await ingest.client.post(body)
                let second = try await sql.settled(2)[1].eventID
                let before = try await sql.digest()

                let explained = try await installation.explain(second, for: shop)
                #expect(explained.json.text("result") == "duplicate")
                #expect(explained.json.number("bytes") == "\(body.count)")
                #expect(explained.json.number("first_event_id") == "\(first)")
                #expect(explained.effects == ["granted \(first)"])
                #expect(explained.charge?.text("standing") == "held")
                #expect(explained.failure == nil && explained.isChecked)
                let payload = explained.json.documents("payloads")[1].document("payload")
                #expect(payload?.text("transactionId") == purchase.transactionID)
                for line in ["meaning: SUBSCRIBED/INITIAL_BUY", "first_event_id: \(first)", "kind: granted", "standing: held"] {
                    #expect(explained.text.contains(line), "\(line) is not in:\n\(explained.text)")
                }
                let after = try await sql.digest()
                #expect(difference(before, after) == [])
            }
        }

        @Test func `a forgery is explained by the check that failed`() async throws {
            var shop = try Shop()
            let purchase = try shop.purchases(1)[0]
            let forgeries = try [Forgery.payloadAltered, .transactionAltered, .foreignRenewalInfo].map {
                try shop.signer.forge(purchase, $0).body
            }
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await installation.startWorker(for: shop)
                _ = try await ingest.client.post(forgeries)
                let events = try await sql.settled(3)
                #expect(events.allSatisfy { $0.outcome == "rejected" })
                var explained: [Explained] = []
                for event in events { explained.append(try await installation.explain(event.eventID, for: shop)) }

                #expect(explained[0].failure == "signedPayload signature signature_invalid")
                #expect(explained[0].json.documents("payloads").map { $0.flag("is_genuine") } == [false, false, false])
                #expect(explained[0].text.contains("is_genuine: false") && explained[0].json.text("meaning") == nil)
                #expect(explained[0].json.documents("transactions").isEmpty, "an unverified payload is not looked up in the ledger")
                #expect(explained[1].failure == "data.signedTransactionInfo signature signature_invalid")
                #expect(explained[1].json.documents("payloads").map { $0.flag("is_genuine") } == [true, false, false])
                #expect(explained[2].failure == "data.signedRenewalInfo contract original_transaction_id_disagreement")
                #expect(explained[2].isChecked)
                for event in explained {
                    #expect(event.json.documents("facts").isEmpty && event.effects == [])
                    #expect(event.json.document("if_run_now")?.text("result") == "rejected")
                    #expect(event.text.contains("failed:"))
                }
            }
        }

        @Test func `a superseded event is explained by the event that replaced it`() async throws {
            var shop = try Shop()
            let life = try shop.shortLife()
            let bodies = try shop.bodies(life)
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await installation.startWorker(for: shop)
                for (count, body) in [bodies[0], bodies[3], bodies[1]].enumerated() {
                    _ = try await ingest.client.post(body)
                    try await sql.settled(count + 1)
                }
                let events = try await sql.events()
                let explained = try await installation.explain(events[2].eventID, for: shop)
                #expect(explained.json.text("result") == "superseded")
                #expect(explained.charge?.text("standing") == "superseded")
                #expect(explained.charge?.number("held_event_id") == "\(events[1].eventID)")
                #expect(explained.renewal?.number("held_event_id") == "\(events[1].eventID)")
                #expect(explained.effects == ["granted \(events[1].eventID)"])
                let orders = explained.json.documents("orders")
                #expect(orders.map { $0.text("status") } == ["refunded"])
                #expect(explained.text.contains("held_event_id: \(events[1].eventID)"), "\(explained.text)")
            }
        }

        @Test func `a waiting event is explained before its first outcome`() async throws {
            var shop = try Shop()
            let purchases = try shop.purchases(2)
            let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
            let early = purchases[1].resigned(at: now.advanced(by: .seconds(600)))
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await ingest.client.post(shop.body(purchases[0]))
                let ready = try await installation.explain(sql.events()[0].eventID, for: shop)
                #expect(ready.json.text("state") == "ready")
                #expect(ready.charge?.text("standing") == "not_merged")
                #expect(ready.effects == ["granted none"])
                #expect(ready.json.document("if_run_now")?.text("result") == "merge")

                _ = try await installation.startWorker(for: shop)
                _ = try await ingest.client.post(shop.body(early))
                let event = try await eventually("the event was tried") {
                    try await sql.events().first { $0.attempts > 0 && $0.outcome == nil }
                }
                // The wait of a later attempt: that of the first one is over at once.
                try await sql.execute("UPDATE appstore.inbox_queue SET run_at = run_at + interval '1 hour'")
                let waiting = try await installation.explain(event.eventID, for: shop)
                #expect(waiting.json.text("state") == "waiting")
                #expect(waiting.failure == "signedPayload clock signed_in_the_future")
                #expect(waiting.json.document("if_run_now")?.text("result") == "retry")
                #expect(waiting.json.document("queue")?.text("last_error") == "signed_in_the_future in signedPayload")
                #expect(waiting.runs == [])
                #expect(waiting.text.contains("signed_in_the_future in signedPayload"))
            }
        }

        @Test func `each run and each repair is shown`() async throws {
            var shop = try Shop()
            let body = try shop.body(shop.purchases(1)[0])
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                let mistaken = try await installation.startWorker(for: shop, ["APPSTORE_INBOX_APPS": "com.example.typo"])
                _ = try await ingest.client.post(body)
                let event = try await sql.settled(1)[0].eventID
                #expect(try await mistaken.terminate() == .exit(0))
                let rejected = try await installation.explain(event, for: shop)
                #expect(rejected.runs == ["rejected wrong_bundle"])
                #expect(rejected.failure == nil, "it passes with the current settings")
                #expect(rejected.json.document("if_run_now")?.text("result") == "merge")

                try await installation.asOperator { connection in
                    _ = try await connection.query("SELECT appstore.requeue_event(\(event), 'bundle was mistyped')")
                }
                _ = try await installation.startWorker(for: shop)
                try await sql.awaitRun(2, of: 1)
                let applied = try await installation.explain(event, for: shop)
                #expect(applied.runs == ["rejected wrong_bundle", "applied"])
                #expect(applied.json.documents("contracts").count == 1)
                #expect(applied.json.documents("audit_log").map { $0.text("note") } == ["bundle was mistyped"])
                #expect(applied.text.contains("replaced_by: appstore_operator"))
            }
        }

        @Test func `an event whose body has been dropped is explained by its outcome`() async throws {
            var shop = try Shop()
            let purchase = try shop.purchases(1)[0]
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await installation.startWorker(for: shop)
                _ = try await ingest.client.post(shop.body(purchase))
                let event = try await sql.settled(1)[0].eventID
                try await sql.execute("CREATE TABLE public.dropped AS SELECT * FROM appstore.inbox")
                try await sql.execute("DELETE FROM appstore.inbox")
                let explained = try await installation.explain(event, for: shop)
                try await sql.execute("INSERT INTO appstore.inbox SELECT * FROM public.dropped")

                #expect(explained.json.object["bytes"] == nil && explained.json.documents("payloads").isEmpty)
                #expect(explained.json.text("meaning")?.hasPrefix("SUBSCRIBED/INITIAL_BUY: ") == true)
                #expect(explained.effects == ["granted \(event)"])
                #expect(explained.json.documents("transactions").map { $0.text("transaction_id") } == [purchase.transactionID])
                #expect(explained.text.contains("the body has been deleted"))
            }
        }

        @Test(arguments: ["appstore_operator", "appstore_viewer"])
        func `a role that may not read bodies gets everything else, and is told how to see the body`(role: String) async throws {
            var shop = try Shop()
            let purchase = try shop.purchases(1)[0]
            try await Installation.lend { installation in
                let (books, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await installation.startWorker(for: shop)
                _ = try await ingest.client.post(shop.body(purchase))
                let event = try await books.settled(1)[0].eventID
                let settings = ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: role)]
                let explained = try await installation.explain(event, settings: settings)
                #expect(explained.json.text("result") == "applied" && explained.effects == ["granted \(event)"])
                #expect(explained.json.documents("transactions").map { $0.text("transaction_id") } == [purchase.transactionID])
                #expect(explained.json.text("meaning")?.hasPrefix("SUBSCRIBED/INITIAL_BUY: ") == true)
                #expect(explained.json.documents("payloads").isEmpty && explained.json.documents("verification").isEmpty)
                #expect(explained.text.contains("only appstore_worker may read"), "\(explained.text)")
            }
        }

        @Test func `a missing event ends with exit code 1, wrong usage with 2, wrong settings with 78`() async throws {
            let shop = try Shop()
            try await Installation.lend { installation in
                let settings = try installation.workerSettings(for: shop)
                let absent = try await Program.run(["explain", "4711"], settings: settings)
                #expect(absent.ending == .exit(1))
                #expect(absent.errors == "there is no event 4711\n" && absent.output == "")
                let usage = try await Program.run(["explain", "everything"], settings: settings)
                #expect(usage.ending == .exit(2))
                #expect(usage.errors.contains("everything"))
                let wrong = try await Program.run(["explain", "4711"], settings: settings.merging(["APPSTORE_INBOX_APPS": ""]) { $1 })
                #expect(wrong.ending == .exit(78))
                #expect(wrong.errors.contains("APPSTORE_INBOX_APPS"))
            }
        }
    }
}

import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import PrometheusTesting
import SQL
import Testing

extension EndToEndInterfaces {
    @Suite struct MetricsTests {
        @Test func `both daemons count their work, and connections that broke, in metrics`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.shortLife())
            try await Installation.lend { installation in
                let (ingest, api) = try await installation.startIngestWithAPI()
                let admin = HTTPClient(port: FreePort.find())
                _ = try await installation.startWorker(
                    for: shop,
                    ["APPSTORE_INBOX_WORKER_ADMIN_LISTEN": "127.0.0.1:\(admin.port)", "APPSTORE_INBOX_CONCURRENCY": "1"]
                )
                #expect(try await ingest.client.post(bodies + [bodies[0]]).map(\.status) == [200, 200, 200, 200, 200])
                #expect(try await ingest.client.post(Array("{}".utf8)).status == 400)
                try await installation.sql.settled(5)
                let backend = try await installation.makeBackend(api)
                for user in ["ann", "bob"] { _ = try await backend.makeOrder(user: user, product: "pro.monthly") }
                #expect(try await backend.send("GET", "/v1/users/ann/entitlements").status == 200)

                let receiver = try ExposedMetrics(try await text(of: ingest.admin))
                try expectReceived(bodies + [bodies[0]], in: receiver)
                try expectAnswered(in: receiver)
                // A worker counts an outcome just after the commit.
                let worker = try await eventually("the worker has counted five outcomes") { () -> ExposedMetrics? in
                    let metrics = try ExposedMetrics(try await text(of: admin))
                    return metrics.count("appstore_inbox_worker_delay_seconds") == 5 ? metrics : nil
                }
                try expectFiveOutcomes(in: worker)
                for metrics in [receiver, worker] { try expectProcess(in: metrics) }
                for client in [admin, ingest.admin] {
                    #expect(try await client.get("/readyz").status == 200)
                    #expect(try await client.get("/livez").status == 200)
                    if Promtool.isInstalled { #expect(try await Promtool.run(["check", "metrics"], input: text(of: client)) == "") }
                }
                try await expectLostConnections(installation, ingest, admin, bodies)
            }
        }

        private func expectReceived(_ bodies: [[UInt8]], in receiver: ExposedMetrics) throws {
            let route = ["route": HTTPClient.notifications]
            #expect(receiver.value("appstore_inbox_ingest_accepted_total", route) == 5)
            #expect(receiver.value("appstore_inbox_ingest_accepted_bytes_total", route) == Double(bodies.reduce(0) { $0 + $1.count }))
            #expect(receiver.count("appstore_inbox_ingest_accept_seconds") == 5)
            #expect(receiver.sum("appstore_inbox_ingest_batch_events") == 5)
            #expect(receiver.value("appstore_inbox_ingest_reserved_bytes") == 0)
            let refusal = ["listener": "notifications", "reason": "no-signed-payload", "status": "400"]
            #expect(receiver.value("appstore_inbox_http_refused_total", refusal) == 1)
            #expect(try #require(receiver.value("appstore_inbox_database_connections_opened_total", ["pool": "ingest"])) >= 1)
            #expect(receiver.value("appstore_inbox_database_connections_lost_total", ["pool": "ingest"]) == 0)
        }

        private func expectAnswered(in receiver: ExposedMetrics) throws {
            let orders = ["operation": "POST /v1/orders", "status": "201"]
            #expect(receiver.value("appstore_inbox_api_answered_total", orders) == 2)
            #expect(receiver.families["appstore_inbox_api_answered_total"]?.samples.reduce(0) { $0 + $1.value } == 3)
            #expect(receiver.count("appstore_inbox_api_answer_seconds", ["operation": "POST /v1/orders"]) == 2)
            #expect(try #require(receiver.value("appstore_inbox_database_connections_opened_total", ["pool": "api"])) >= 1)
        }

        private func expectFiveOutcomes(in worker: ExposedMetrics) throws {
            let outcomes = "appstore_inbox_worker_outcomes_total"
            #expect(worker.value(outcomes, ["type": "DID_RENEW", "result": "applied"]) == 1)
            #expect(worker.families[outcomes]?.samples.reduce(0) { $0 + $1.value } == 5)
            #expect(worker.families[outcomes]?.samples.filter { $0.labels["result"] == "duplicate" }.reduce(0) { $0 + $1.value } == 1)
            #expect(worker.sum("appstore_inbox_worker_batch_events") == 5)
            #expect(worker.count("appstore_inbox_worker_verification_seconds") == 5)
            #expect(worker.value("appstore_inbox_statistics_up") == 1)
            let readAt = try #require(worker.value("appstore_inbox_statistics_timestamp_seconds"))
            #expect(abs(Date.now.timeIntervalSince1970 - readAt) < 60)
            #expect(worker.value("appstore_inbox_database_connections_opened_total", ["pool": "markers"]) == 1)
            let slots = { state in worker.value("appstore_inbox_database_connections", ["pool": "worker", "state": state]) ?? .nan }
            #expect(slots("idle") + slots("leased") >= 1 && slots("unanswered") == 0)
            let known = try #require(worker.value("appstore_inbox_worker_chain_cache_hits_total"))
            let unknown = try #require(worker.value("appstore_inbox_worker_chain_cache_misses_total"))
            #expect(known + unknown >= 10 && unknown >= 1)
        }

        private func expectProcess(in metrics: ExposedMetrics) throws {
            let build = try #require(metrics.families["appstore_inbox_build_info"]?.samples.first)
            #expect((build.value, build.labels["version"], build.labels["schema"]) == (1, "0.2.0", "\(SchemaManifest().version)"))
            let now = Date.now.timeIntervalSince1970
            let startedAt = try #require(metrics.value("process_start_time_seconds"))
            #expect(startedAt > now - 60 && startedAt <= now)
            let computed = try #require(metrics.value("process_cpu_seconds_total"))
            #expect(computed > 0 && computed < 60)
            #expect(try #require(metrics.value("process_resident_memory_bytes")) > 1_000_000)
            let open = try #require(metrics.value("process_open_fds"))
            let most = try #require(metrics.value("process_max_fds"))
            #expect(open > 3 && open < most)
        }

        private func expectLostConnections(
            _ installation: Installation,
            _ ingest: Ingest,
            _ admin: HTTPClient,
            _ bodies: [[UInt8]]
        ) async throws {
            try await installation.sql.execute(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND usename IN ('appstore_ingest', 'appstore_worker')
                """
            )
            // The next use of a connection finds it broken and opens another one.
            for body in bodies {
                try await eventually("the notification is stored") { try await ingest.client.post(body).status == 200 }
            }
            try await installation.sql.settled(5 + bodies.count)
            for (client, pool) in [(ingest.admin, "ingest"), (admin, "worker"), (admin, "markers")] {
                let labels = ["pool": pool]
                try await eventually("connections of \(pool) are lost and opened again") {
                    let metrics = try ExposedMetrics(try await text(of: client))
                    let lost = metrics.value("appstore_inbox_database_connections_lost_total", labels) ?? 0
                    return lost >= 1 && metrics.value("appstore_inbox_database_connections_opened_total", labels) ?? 0 > lost
                }
            }
        }

        private func text(of client: HTTPClient) async throws -> String {
            let answer = try await client.get("/metrics")
            #expect(answer.status == 200)
            #expect(answer.fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            return String(decoding: answer.body, as: UTF8.self)
        }
    }
}

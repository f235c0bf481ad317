import AppStore
import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator
import StrictJSON
import Testing

extension EndToEndInterfaces {
    /// The feed as the shop's backend reads it, from Apple's notification to the answer.
    @Suite struct FeedTests {
        @Test func `a purchase is told to a backend that waits, and to one that reads a stream`() async throws {
            var shop = try Shop()
            try await Installation.lend { installation in
                try await installation.sql.execute("SELECT appstore.enable_feed()")
                let (ingest, api) = try await installation.startIngestWithAPI()
                let worker = try await installation.startWorker(for: shop)
                let backend = try await installation.makeBackend(api, ["--app", shop.app.bundleID])
                let no = try await backend.makeOrder(user: "ann", product: shop.plan.id)
                async let streamed = Self.types(untilEach: ["effect.granted", "access.changed"], for: backend)
                let start = try await backend.send("GET", "/v1/feed?after=now").document()
                #expect(start.text("next") == "1.0")
                async let waiting = backend.send("GET", "/v1/feed?after=1.0&wait=30&types=access.changed")

                var life = shop.makeCustomer()
                let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
                life.advance(to: now.advanced(by: .seconds(-3600)))
                let notification = try life.subscribe(to: shop.plan, appAccountToken: no)
                #expect(try await ingest.client.post(shop.body(notification)).status == 200)

                let answer = try await waiting
                #expect(answer.status == 200)
                let events = try answer.document().documents("events")
                #expect(events.count == 1 && events[0].text("type") == "access.changed")
                #expect(events[0].document("data")?.text("user") == "ann" && events[0].document("data")?.flag("active") == true)
                let all = try await backend.send("GET", "/v1/feed?after=begin").document()
                let types = Set(all.documents("events").compactMap { $0.text("type") })
                #expect(types == ["effect.granted", "access.changed", "order.paid"])
                #expect(try await streamed.isSuperset(of: ["effect.granted", "access.changed"]))

                let consumer = try await backend.send("PUT", "/v1/feed/consumers/mailer", ["cursor": .string(all.text("next") ?? "")])
                #expect(consumer.status == 200)
                #expect(try await backend.send("GET", "/v1/feed?consumer=mailer").document().documents("events").isEmpty)

                // A long poll does not hold up the end.
                async let last = backend.send("GET", "/v1/feed?after=now&wait=30")
                try await eventually("its connection is open, and no other") {
                    let metrics = try await ingest.admin.get("/metrics")
                    let one = #"appstore_inbox_http_connections{listener="api"} 1"# + "\n"
                    return String(decoding: metrics.body, as: UTF8.self).contains(one)
                }
                let end = ContinuousClock.now
                #expect(try await ingest.daemon.terminate() == .exit(0))
                #expect(ContinuousClock.now - end < .seconds(10))
                #expect(try await last.status == 200)
                #expect(try await worker.terminate() == .exit(0))
                #expect(ingest.daemon.warnings == [] && worker.warnings == [])
            }
        }

        /// The types in a stream, until these are there.
        private static func types(untilEach wanted: Set<String>, for backend: ShopBackend) async throws -> Set<String> {
            let fields = ["authorization": "Bearer \(backend.key)", "accept": "text/event-stream"]
            return try await backend.client.connected { connection in
                var types: Set<String> = []
                let head = try connection.exchange("GET", "/v1/feed?after=begin", fields: fields)
                guard head.fields["content-type"] == "text/event-stream" else { throw ProgramFailure(what: "no stream: \(head.status)") }
                while !types.isSuperset(of: wanted) {
                    let line = try connection.line()
                    if line.hasPrefix("event: ") { types.insert(String(line.dropFirst(7))) }
                }
                return types
            }
        }
    }
}

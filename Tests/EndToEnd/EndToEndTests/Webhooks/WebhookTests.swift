import EndToEndTesting
import Foundation
import Glibc
import Postgres
import PostgresTesting
import Testing
import WebhookReceiver

extension EndToEnd {
    /// Webhooks, from Apple's POST to the receiver.
    @Suite struct WebhookTests {
        @Test func `a purchase and its refund arrive, signed, in their order and once`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.shortLife())
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await installation.startWebhookWorker(for: shop)
                try await WebhookReceiver.with { receiver in
                    let made = try await installation.run(["endpoint", "create", "shop", receiver.url, "--type", "effect.*"])
                    #expect(made.ending == .exit(0), "\(made.errors)")
                    #expect(made.errors.contains("test: delivered, 204 in "), "\(made.errors)")
                    let secret = made.output.trimmingCharacters(in: .newlines)
                    _ = try await ingest.client.post(bodies)
                    try await sql.settled(bodies.count)

                    let expected = try await sql.told("effect.", "type")
                    // In the order of commit, which several posts at a time decide.
                    #expect(Set(expected).isSuperset(of: ["effect.granted", "effect.refunded"]))
                    let webhooks = try await receiver.webhooks(expected.count + 1)
                    #expect(try webhooks.map { try $0.document().text("type") } == ["test"] + expected)
                    #expect(webhooks.allSatisfy { $0.isSigned(with: secret) && $0.signatures("v1a").count == 1 })
                    #expect(!webhooks.contains { $0.isSigned(with: "whsec_" + String(repeating: "A", count: 43) + "=") })
                    for webhook in webhooks.dropFirst() {
                        #expect(try webhook.document().text("id") == webhook.id)
                        #expect(webhook.headers["content-type"] == "application/json")
                        let known = try await sql.value(
                            Bool.self,
                            "SELECT EXISTS (SELECT FROM appstore.feed WHERE id = \(webhook.id)::text::uuid)"
                        )
                        #expect(known)
                    }
                    let show = try await installation.run(["endpoint", "show", "shop"])
                    #expect(show.output.contains("effect.refunded"), "\(show.output)")
                }
            }
        }

        @Test func `a raw endpoint gets the bytes of Apple, and nothing that is not Apple's`() async throws {
            var shop = try Shop()
            var stranger = try Shop(seed: 2, authority: Shop.untrustedAuthority())
            let bodies = try shop.bodies(shop.shortLife())
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                _ = try await installation.startWebhookWorker(for: shop)
                try await WebhookReceiver.with { receiver in
                    let secret = try await installation.makeEndpoint("mirror", receiver, ["--format", "raw"])
                    _ = try await ingest.client.post(stranger.bodies(stranger.purchases(1)))
                    _ = try await ingest.client.post(bodies + [bodies[0]])
                    try await installation.sql.settled(bodies.count + 2)
                    try await receiver.webhooks(bodies.count)
                    // A test comes after all that was told before it.
                    let test = try await installation.run(["endpoint", "test", "mirror"])
                    #expect(test.ending == .exit(0), "\(test.output)\(test.errors)")
                    let webhooks = receiver.received
                    #expect(Set(webhooks.dropLast().map(\.body)) == Set(bodies) && webhooks.count == bodies.count + 1)
                    #expect(webhooks.allSatisfy { $0.isSigned(with: secret) })
                }
            }
        }

        @Test func `after a rotation each webhook is signed with both secrets`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.purchases(1))
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                _ = try await installation.startWebhookWorker(for: shop)
                try await WebhookReceiver.with { receiver in
                    let old = try await installation.makeEndpoint("shop", receiver)
                    let rotated = try await installation.run(["endpoint", "rotate", "shop"])
                    #expect(rotated.errors.contains("valid for 24 hours"), "\(rotated.errors)")
                    let new = rotated.output.trimmingCharacters(in: .newlines)
                    #expect(try await installation.secret(of: "shop") == new && new != old)
                    _ = try await ingest.client.post(bodies)
                    try await eventually("a webhook has both signatures") {
                        receiver.received.contains { $0.isSigned(with: old) && $0.isSigned(with: new) }
                    }
                    #expect(receiver.received.allSatisfy { $0.isSigned(with: old) })
                }
            }
        }

        @Test func `SIGHUP replaces the text that secrets are derived from`() async throws {
            let shop = try Shop()
            try await Installation.lend { installation in
                let worker = try await installation.startWebhookWorker(for: shop)
                try await WebhookReceiver.with { receiver in
                    let old = try await installation.makeEndpoint("shop", receiver)
                    try installation.write(webhookSecret: "another one, which is as long as a secret has to be\n\(Installation.master)\n")
                    worker.signal(SIGHUP)
                    try await eventually("the worker reloads") { worker.log.contains("settings reloaded settings.changed=webhook-secret") }
                    let new = try await installation.secret(of: "shop")
                    _ = try await installation.run(["endpoint", "test", "shop"])
                    let both = try await receiver.webhooks(1)[0]
                    #expect(both.isSigned(with: old) && both.isSigned(with: new) && both.signatures().count == 2)

                    try installation.write(webhookSecret: "short")
                    worker.signal(SIGHUP)
                    try await eventually("the worker refuses") { worker.log.contains("settings not reloaded") }
                    #expect(!worker.log.contains("not secret at all") && !worker.log.contains("whsec_"))
                }
            }
        }

        @Test func `every entry arrives at least once, in the order of its contract, when workers are killed while they deliver`()
            async throws
        {
            var shop = try Shop()
            let lives = try (0..<12).map { _ in try shop.bodies(shop.shortLife()) }
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                try await WebhookReceiver.with(answer: { _ in WebhookReceiver.Answer(200, after: .milliseconds(100)) }) { receiver in
                    _ = try await installation.makeEndpoint("shop", receiver, ["--type", "effect.*"])
                    for life in lives { _ = try await ingest.client.post(life) }
                    for round in 1...3 {
                        let worker = try await installation.startWebhookWorker(for: shop)
                        try await receiver.webhooks(receiver.received.count + round * 3)
                        try await worker.kill()
                        // As if the time of the lease had passed.
                        try await sql.execute(
                            "UPDATE appstore.endpoints SET leased_until = clock_timestamp() WHERE leased_until IS NOT NULL"
                        )
                    }
                    _ = try await installation.startWebhookWorker(for: shop)
                    try await sql.settled(lives.count * 4)
                    let ids = Set(try await sql.told("effect.", "id"))
                    try await eventually("each entry arrives") { Set(receiver.received.map(\.id)).isSuperset(of: ids) }
                    try expectOrder(receiver.received)
                    let state = try await sql.values("SELECT state FROM appstore.endpoints")
                    #expect(state == ["enabled"])
                }
            }
        }

        /// Of each contract, what arrives for the first time follows what arrived before.
        private func expectOrder(_ webhooks: [ReceivedWebhook]) throws {
            var latest: [String: Int64] = [:]
            var seen: Set<String> = []
            for webhook in webhooks where seen.insert(webhook.id).inserted {
                let document = try webhook.document()
                let subject = try #require(document.document("data")?.text("subject"))
                let position = try #require(document.number("position").flatMap { Int64($0) })
                #expect(position > latest[subject] ?? 0, "\(subject)")
                latest[subject] = position
            }
        }
    }
}

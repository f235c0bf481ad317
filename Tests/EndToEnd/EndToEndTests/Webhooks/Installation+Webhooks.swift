import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import Testing
import WebhookReceiver

extension Installation {
    /// The file with the text from which the secrets of endpoints are derived.
    var webhookSecret: URL { folder.appending(path: "webhook-secret") }

    func write(webhookSecret text: String) throws {
        try Data(text.utf8).write(to: webhookSecret)
    }

    static let master = "not secret at all, but long enough for a test"

    /// Starts a worker that delivers webhooks.
    func startWebhookWorker(for shop: Shop, _ settings: [String: String] = [:]) async throws -> Daemon {
        if !FileManager.default.fileExists(atPath: webhookSecret.path) { try write(webhookSecret: Self.master) }
        return try await startWorker(for: shop, ["APPSTORE_INBOX_WEBHOOK_SECRET_FILE": webhookSecret.path].merging(settings) { $1 })
    }

    /// Runs `appstore-inbox endpoint` or `redeliver` as an operator.
    func run(_ arguments: [String], as role: String = "appstore_operator", _ settings: [String: String] = [:]) async throws
        -> Program.Result
    {
        if !FileManager.default.fileExists(atPath: webhookSecret.path) { try write(webhookSecret: Self.master) }
        let usual = [
            "APPSTORE_INBOX_DATABASE_URL": database.url(user: role), "APPSTORE_INBOX_WEBHOOK_SECRET_FILE": webhookSecret.path,
        ]
        return try await Program.run(arguments, settings: usual.merging(settings) { $1 }, within: .seconds(60))
    }

    /// Creates an endpoint for a receiver, and returns its secret.
    func makeEndpoint(_ name: String, _ receiver: WebhookReceiver, _ arguments: [String] = []) async throws -> String {
        let result = try await run(["endpoint", "create", name, receiver.url, "--no-test"] + arguments)
        #expect(result.ending == .exit(0), "\(result.errors)")
        return try #require(result.output.split(separator: "\n").first.map(String.init))
    }

    /// The secret of an endpoint, as the command prints it.
    func secret(of endpoint: String) async throws -> String {
        let result = try await run(["endpoint", "secret", endpoint])
        #expect(result.ending == .exit(0), "\(result.errors)")
        return result.output.trimmingCharacters(in: .newlines)
    }
}

extension SQLAccess {
    /// The entries of the feed whose type begins so, when all that changed has a position.
    func told(_ type: String, _ column: String) async throws -> [String] {
        try await eventually("everything is told") { try await value(Bool.self, "SELECT NOT EXISTS (SELECT FROM appstore.tells)") }
        return try await values(
            "SELECT \(identifier: column)::text FROM appstore.feed WHERE starts_with(type, \(type)) ORDER BY position"
        )
    }
}

extension WebhookReceiver {
    /// Runs a body with a receiver, which is stopped afterwards.
    static func with<T: Sendable>(
        answer: @escaping @Sendable (ReceivedWebhook) -> Answer = { _ in Answer(204) },
        _ body: (WebhookReceiver) async throws -> T
    ) async throws -> T {
        let receiver = try await start(answer: answer)
        defer { receiver.stop() }
        return try await body(receiver)
    }

    /// Waits until that many webhooks have arrived, and returns all.
    @discardableResult
    func webhooks(_ count: Int, within duration: Duration = .seconds(20)) async throws -> [ReceivedWebhook] {
        try await eventually("\(count) webhooks arrive", within: duration) { received.count >= count ? received : nil }
    }
}

extension ReceivedWebhook {
    func document() throws -> JSONDocument { try JSONDocument(String(decoding: body, as: UTF8.self)) }
}

import AppStore
import Handlers
import SignedTesting
import StoreSimulator
import Testing

/// What a client posts and nobody takes: rejected at once, with a reason, and nothing of it in the books.
struct ClientRefusalTests {
    private func expectRejection(_ reason: String, labels: String = "- - - - - -", _ body: [UInt8]) async throws {
        try await Office.with { office in
            let event = try await office.receive(client: body)
            #expect(try await office.outcome(of: event) == "rejected \(reason)")
            #expect(try await office.labels(of: event) == labels)
            #expect(try await office.count(of: "transactions", "client_posts", "orders", "effects") == [0, 0, 0, 0])
        }
    }

    /// What the outcome says of a purchase that was refused though its signature is genuine.
    private func labels(_ post: ClientPost, bundle: String = "com.example.app") -> String {
        let environment = post.notification.app.environment.rawValue
        return "- - \(environment) \(bundle) \(post.transaction.transactionID) \(post.transaction.originalTransactionID)"
    }

    @Test func `a purchase of another environment than was asked for`() async throws {
        let (sandbox, production) = (try ClientPost(app: SignedScene.sandboxApp), try ClientPost())
        try await expectRejection("wrong_environment", labels: labels(sandbox), sandbox.body())
        try await expectRejection("wrong_environment", labels: labels(production), production.body(environment: .sandbox))
    }

    @Test func `a purchase that does not say its environment`() async throws {
        let post = try ClientPost()
        let expected = "- - - com.example.app \(post.transaction.transactionID) \(post.transaction.originalTransactionID)"
        try await expectRejection("environment_missing", labels: expected, post.body(post.jws { $0["environment"] = nil }))
    }

    @Test func `a purchase of an app that the key is not for, or that is not configured`() async throws {
        let post = try ClientPost()
        try await expectRejection("wrong_bundle", labels: labels(post), post.body(bundleIDs: ["com.example.other"]))
        let foreign = try post.jws { $0["bundleId"] = "com.example.other" }
        try await expectRejection("wrong_bundle", labels: labels(post, bundle: "com.example.other"), post.body(foreign))
    }

    @Test func `another kind of payload that Apple signed`() async throws {
        let post = try ClientPost()
        let notification = try SignedScene.signer().sign(post.notification).jws
        try await expectRejection("wrong_kind", post.body(String(decoding: notification, as: UTF8.self)))
        guard case .appData(let download) = try SignedScene.trigger(NotificationKind(.rescindConsent)).notification().content else {
            throw ClientPost.MissingTransaction()
        }
        let appTransaction = try SignedScene.signer().sign(download.payload(of: SignedScene.app))
        try await expectRejection("wrong_kind", post.body(String(decoding: appTransaction, as: UTF8.self)))
    }

    @Test func `a purchase that nobody signed, or that was changed afterwards`() async throws {
        let post = try ClientPost()
        try await expectRejection("algorithm_missing", post.body("e30.e30.c2ln"))
        var parts = try post.jws().split(separator: ".").map(String.init)
        parts[1] = try post.jws { $0["productId"] = "everything" }.split(separator: ".").map(String.init)[1]
        try await expectRejection("signature_invalid", post.body(parts.joined(separator: ".")))
    }

    @Test func `a purchase with a character that the books cannot hold`() async throws {
        let post = try ClientPost()
        try await expectRejection("nul_in_payload", labels: labels(post), post.body(post.jws { $0["offerIdentifier"] = "a\u{0}b" }))
        let expected = "- - Production - \(post.transaction.transactionID) \(post.transaction.originalTransactionID)"
        try await expectRejection("wrong_bundle", labels: expected, post.body(post.jws { $0["bundleId"] = "a\u{0}b" }))
    }

    @Test(arguments: [("[]", "not_a_json_object"), (#"{"signedTransaction":"a.b.c"}"#, "malformed_environment")])
    func `a body that is none`(body: String, reason: String) async throws {
        try await expectRejection(reason, Array(body.utf8))
    }
}

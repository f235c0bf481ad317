import AppStore
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// Posts of clients that are rejected at once, with a reason, and not merged.
struct ClientRefusalTests {
    private func expectRejection(
        _ reason: String,
        result: String = "rejected",
        labels: String = "- - - - - -",
        _ body: [UInt8]
    ) async throws {
        try await WorkerScene.with { scene in
            let event = try await scene.receive(client: body)
            #expect(try await scene.outcome(of: event) == "\(result) \(reason)")
            #expect(try await scene.labels(of: event) == labels)
            #expect(try await scene.count(of: "transactions", "client_posts", "orders", "effects") == [0, 0, 0, 0])
        }
    }

    /// The labels of a refused purchase with a genuine signature.
    private func labels(_ post: ClientPost, bundle: String = "com.example.app") -> String {
        let environment = post.notification.app.environment.rawValue
        return "- - \(environment) \(bundle) \(post.transaction.transactionID) \(post.transaction.originalTransactionID)"
    }

    @Test func `a purchase of another environment than requested`() async throws {
        let (sandbox, production) = (try ClientPost(app: SignedScene.sandboxApp), try ClientPost())
        try await expectRejection("wrong_environment", labels: labels(sandbox), sandbox.body())
        try await expectRejection("wrong_environment", labels: labels(production), production.body(environment: .sandbox))
    }

    @Test func `a purchase that does not name its environment`() async throws {
        let post = try ClientPost()
        let expected = "- - - com.example.app \(post.transaction.transactionID) \(post.transaction.originalTransactionID)"
        try await expectRejection("environment_missing", labels: expected, post.body(post.jws { $0["environment"] = nil }))
    }

    @Test func `a purchase of an app outside the key's scope, or of one that is not configured`() async throws {
        let post = try ClientPost()
        try await expectRejection("wrong_bundle", labels: labels(post), post.body(bundleIDs: ["com.example.other"]))
        let foreign = try post.jws { $0["bundleId"] = "com.example.other" }
        try await expectRejection("wrong_bundle", labels: labels(post, bundle: "com.example.other"), post.body(foreign))
    }

    @Test func `another kind of signed payload`() async throws {
        let post = try ClientPost()
        let notification = try SignedScene.signer().sign(post.notification).jws
        let app = SignedScene.app.bundleID
        let labels = "SUBSCRIBED INITIAL_BUY Production \(app) - -"
        try await expectRejection("wrong_kind", labels: labels, post.body(String(decoding: notification, as: UTF8.self)))
        let renewal = try #require(SignedScene.trigger(NotificationKind(.didRenew)).notification().renewalInfo)
        let renewalInfo = try SignedScene.signer().sign(renewal, of: SignedScene.app, signedDate: SignedScene.now)
        try await expectRejection(
            "wrong_kind",
            labels: "- - Production - - \(renewal.originalTransactionID)",
            post.body(String(decoding: renewalInfo, as: UTF8.self))
        )
        guard case .appData(let download) = try SignedScene.trigger(NotificationKind(.rescindConsent)).notification().content else {
            throw ClientPost.MissingTransaction()
        }
        let appTransaction = try SignedScene.signer().sign(download.payload(of: SignedScene.app))
        try await expectRejection(
            "wrong_kind",
            labels: "- - Production \(app) - -",
            post.body(String(decoding: appTransaction, as: UTF8.self))
        )
    }

    @Test func `a purchase without a valid signature, or changed afterwards`() async throws {
        let post = try ClientPost()
        try await expectRejection("algorithm_missing", post.body("e30.e30.c2ln"))
        var parts = try post.jws().split(separator: ".").map(String.init)
        parts[1] = try post.jws { $0["productId"] = "everything" }.split(separator: ".").map(String.init)[1]
        try await expectRejection("signature_invalid", post.body(parts.joined(separator: ".")))
    }

    @Test func `a purchase with a character that PostgreSQL cannot store`() async throws {
        let post = try ClientPost()
        let expected = "- - Production - \(post.transaction.transactionID) \(post.transaction.originalTransactionID)"
        try await expectRejection(
            "unreadable_member:transaction.bundleId",
            result: "unhandled",
            labels: expected,
            post.body(post.jws { $0["bundleId"] = "a\u{0}b" })
        )
    }

    @Test(arguments: [("[]", "not_a_json_object"), (#"{"signedTransaction":"a.b.c"}"#, "malformed_environment")])
    func `a malformed body`(body: String, reason: String) async throws {
        try await expectRejection(reason, Array(body.utf8))
    }
}

import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// The register of downloads of apps, and whose they are.
struct AppTransactionTests {
    private static let now = SignedScene.now.millisecondsSince1970
    private static let hour: Int64 = 3_600_000

    /// What the App Store signs of the download a1, some hours before now.
    private static func jws(_ version: String?, hoursAgo: Int64, _ change: (inout JSONObject) -> Void = { _ in }) throws -> String {
        var payload: JSONObject = [
            "receiptType": "Production", "appAppleId": 42, "bundleId": .string(SignedScene.app.bundleID),
            "receiptCreationDate": .integer(now - hoursAgo * hour), "appTransactionId": "a1",
            "originalPurchaseDate": 1_714_637_500_000,
        ]
        payload["originalApplicationVersion"] = version.map { .string($0) }
        change(&payload)
        return String(decoding: try SignedScene.signer().sign(payload), as: UTF8.self)
    }

    private static func body(
        _ jws: String,
        user: String? = "anna",
        environment: AppStoreEnvironment = .production,
        bundleIDs: [String]? = nil
    ) throws -> [UInt8] {
        try ClientSubmission(.appTransaction, signedTransaction: jws, user: user, environment: environment, bundleIDs: bundleIDs).body
    }

    private static func post(_ jws: String, by user: String?, hoursAgo: Int64 = 0, in scene: WorkerScene) async throws -> Int64 {
        let instant = SignedScene.now.advanced(by: .seconds(-hoursAgo * 3600))
        return try await scene.receive(body(jws, user: user), source: EventSource.clientAppTransaction.rawValue, at: instant)
    }

    private static func answer(_ jws: String, in scene: WorkerScene) async throws -> Int64 {
        let body = AnswerElement.body(
            asked: ["endpoint": "app_transaction", "environment": "Production", "bundleId": "com.example.app", "path": ["7"]],
            answer: ["signedAppTransactionInfo": .string(jws)]
        )
        return try await scene.receive(body, source: EventSource.appTransaction.rawValue)
    }

    private static let rows: Statement = """
        SELECT concat_ws(' ', app_transaction_id, bundle_id, coalesce(original_application_version, '-'), coalesce(application_version, '-'),
                         coalesce(original_platform, '-'), coalesce(original_purchase_date::date::text, '-'), coalesce(store_type, '-'),
                         coalesce(revocation_date::date::text, '-'), coalesce(user_id, '-'))
        FROM appstore.app_transactions ORDER BY environment, app_transaction_id
        """

    @Test func `the newest statement counts, in whatever order they come, and what it lacks is not forgotten`() async throws {
        let oldest = try Self.jws("211", hoursAgo: 5) { app in
            (app["originalPlatform"], app["applicationVersion"], app["revocationDate"]) = ("macOS", "300", 1_767_225_600_000)
        }
        let middle = try Self.jws("212", hoursAgo: 3) { app in (app["originalPlatform"], app["storeType"]) = ("iOS", "CONSUMER") }
        let newest = try Self.jws(nil, hoursAgo: 1)
        var digests: Set<String> = []
        for (number, order) in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1], [1, 0, 2], [0, 2, 1, 1, 0]].enumerated() {
            try await WorkerScene.with { scene in
                for index in order {
                    switch index {
                    case 0: _ = try await Self.post(oldest, by: "bert", hoursAgo: 1, in: scene)
                    case 1: _ = try await Self.post(middle, by: "anna", hoursAgo: 2, in: scene)
                    default: _ = try await Self.answer(newest, in: scene)
                    }
                    if number.isMultiple(of: 2) { try await scene.work() }
                }
                try await scene.work()
                #expect(
                    try await scene.database.lines(Self.rows) == ["a1 com.example.app 212 300 iOS 2024-05-02 CONSUMER - anna"],
                    "order \(order)"
                )
                digests.formUnion(try await scene.database.lines("SELECT appstore.state_digest('Production')"))
            }
        }
        #expect(digests.count == 1)
    }

    @Test func `posts, answers and rescinded consents bring it, and a repetition changes nothing`() async throws {
        try await WorkerScene.with { scene in
            let posted = try await Self.post(Self.jws("212", hoursAgo: 3), by: nil, in: scene)
            #expect(try await scene.outcome(of: posted) == "applied")
            #expect(try await scene.labels(of: posted) == "- - Production com.example.app - -")
            let again = try await Self.post(Self.jws("212", hoursAgo: 3), by: nil, in: scene)
            #expect(try await scene.outcome(of: again) == "superseded")
            let answer = try await Self.answer(Self.jws("213", hoursAgo: 2), in: scene)
            #expect(try await scene.outcome(of: answer) == "applied")
            #expect(try await scene.database.lines(Self.rows) == ["a1 com.example.app 213 - - 2024-05-02 - - -"])
            let rescinded = try SignedScene.trigger(NotificationKind(.rescindConsent)).notification()
            let event = try await scene.receive(notification: SignedScene.sign(rescinded))
            #expect(try await scene.outcome(of: event) == "applied")
            #expect(try await scene.count(of: "app_transactions", "effect_log") == [2, 1])
        }
    }

    @Test func `it is the user's whose app posted it first, and another user is told so`() async throws {
        try await WorkerScene.with { scene in
            let jws = try Self.jws("212", hoursAgo: 3)
            let first = try await Self.post(jws, by: "anna", hoursAgo: 2, in: scene)
            let same = try await Self.post(jws, by: "anna", hoursAgo: 1, in: scene)
            let other = try await Self.post(jws, by: "bert", hoursAgo: 1, in: scene)
            let newer = try await Self.post(Self.jws("212", hoursAgo: 1), by: "bert", in: scene)
            for (event, outcome) in [
                (first, "applied"), (same, "superseded"), (other, "superseded owner_conflict"), (newer, "applied owner_conflict"),
            ] {
                #expect(try await scene.outcome(of: event) == outcome)
            }
            let users: Statement = "SELECT user_id || ' ' || original_application_version FROM appstore.user_app_transactions"
            #expect(try await scene.database.lines(users) == ["anna 212"])
        }
    }

    @Test func `without a post it is the owner's of the latest purchase, and the feed names the user of a rescinded consent`() async throws
    {
        try await WorkerScene.with { scene in
            _ = try await scene.database.lines("SELECT appstore.enable_feed()::text")
            let rescinded = try SignedScene.trigger(NotificationKind(.rescindConsent)).notification()
            guard case .appData(let download) = rescinded.content else { return }
            // Two purchases of the Apple Account: the latest one has no owner.
            for (number, user) in [(0, "carl"), (1, "dora"), (2, nil)] as [(Int, String?)] {
                var trigger = SignedScene.trigger(NotificationKind(.oneTimeCharge))
                trigger.appAccountToken = user == nil ? nil : UUID()
                if let user, let token = trigger.appAccountToken {
                    _ = try await scene.database.lines("SELECT appstore.set_user_token(\(token), \(user))::text")
                }
                let jws = try SignedScene.sign(
                    trigger.notification(),
                    transaction: { transaction in
                        transaction["appTransactionId"] = .string(download.appTransactionID)
                        transaction["transactionId"] = .string("900\(number)")
                        transaction["originalTransactionId"] = .string("900\(number)")
                        transaction["purchaseDate"] = .integer(Self.now - Self.hour * Int64(9 - number))
                        if user == nil { transaction["appAccountToken"] = nil }
                    }
                )
                try await scene.receive(notification: jws)
            }
            try await scene.receive(notification: SignedScene.sign(rescinded))
            try await scene.work()
            try await scene.database.sequenceFeed()
            let told: Statement = "SELECT coalesce(user_id, '-') FROM appstore.feed WHERE type = 'effect.consent_rescinded'"
            #expect(try await scene.database.lines(told) == ["dora"])
            let users: Statement =
                "SELECT user_id || ' ' || (app_transaction_id = \(download.appTransactionID)) FROM appstore.user_app_transactions"
            #expect(try await scene.database.lines(users) == ["dora true"])
        }
    }

    @Test func `nothing unverified has an effect, and each refusal has its reason`() async throws {
        try await WorkerScene.with { scene in
            func outcome(_ body: [UInt8]) async throws -> String {
                try await scene.outcome(of: scene.receive(body, source: EventSource.clientAppTransaction.rawValue))
            }
            let jws = try Self.jws("212", hoursAgo: 1)
            #expect(try await outcome(Self.body(jws, environment: .sandbox)) == "rejected wrong_environment")
            #expect(try await outcome(Self.body(jws, bundleIDs: ["com.example.other"])) == "rejected wrong_bundle")
            let elsewhere = try Self.jws("212", hoursAgo: 1) { $0["bundleId"] = "com.example.other" }
            #expect(try await outcome(Self.body(elsewhere)) == "rejected wrong_bundle")
            #expect(try await outcome(Self.body(String(jws.dropLast(3)) + "AAA")) == "rejected signature_invalid")
            let purchase = try ClientPost().jws()
            #expect(try await outcome(Self.body(purchase)) == "rejected wrong_kind")
            #expect(
                try await outcome(Array(#"{"signedTransaction":"YQ.YQ.YQ","environment":"Production"}"#.utf8))
                    == "rejected no_signed_transaction"
            )
            #expect(try await outcome(Array("[]".utf8)) == "rejected not_a_json_object")
            let bare = try Self.jws("212", hoursAgo: 1) { $0["appTransactionId"] = nil }
            #expect(try await outcome(Self.body(bare)) == "no_effect app_transaction_id_missing")
            let odd = try Self.jws("212", hoursAgo: 1) { $0["revocationDate"] = "yesterday" }
            #expect(try await outcome(Self.body(odd)) == "unhandled unreadable_member:appTransaction.revocationDate")
            #expect(try await scene.count(of: "app_transactions") == [0])
        }
    }

    @Test func `a forgotten user loses it with the bodies, and the next user who posts it follows`() async throws {
        try await WorkerScene.with { scene in
            let jws = try Self.jws("212", hoursAgo: 3)
            let first = try await Self.post(jws, by: "anna", hoursAgo: 2, in: scene)
            try await scene.work()
            let waiting = try await Self.post(jws, by: "anna", in: scene)
            let document: Statement = "SELECT appstore.explain_customer('anna') #>> '{app_transactions,0,original_application_version}'"
            #expect(try await scene.database.lines(document) == ["212"])
            #expect(
                try await scene.database.lines("SELECT (posts || ' ' || bodies)::text FROM appstore.forget('anna', 'ticket 1')") == ["2 2"]
            )
            let left: Statement = "SELECT event_id::text FROM appstore.inbox WHERE event_id IN (\(first), \(waiting))"
            #expect(try await scene.database.lines(left) == [])
            #expect(try await scene.outcome(of: waiting) == "discarded forgotten")
            #expect(try await scene.database.lines(Self.rows) == ["a1 com.example.app 212 - - 2024-05-02 - - -"])
            #expect(try await scene.database.lines("SELECT (appstore.explain_customer('anna') IS NULL)::text") == ["true"])
            let next = try await Self.post(jws, by: "bert", in: scene)
            #expect(try await scene.outcome(of: next) == "applied")
            #expect(try await scene.database.lines("SELECT user_id FROM appstore.user_app_transactions") == ["bert"])
        }
    }
}

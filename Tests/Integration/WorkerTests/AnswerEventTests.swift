import AppStore
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// Events that answers of the App Store Server API become.
@Suite struct AnswerEventTests {
    private static let sources: [EventSource] = [
        .subscriptionStatus, .transactionInfo, .appTransaction, .importedStatus, .importedTransaction,
    ]

    private static func notification(_ type: NotificationTypeV2, _ subtype: Subtype? = nil) throws -> SimulatedNotification {
        try SignedScene.trigger(NotificationKind(type, subtype)).notification()
    }

    private static func kinds(_ scene: WorkerScene) async throws -> [String] {
        try await scene.database.lines("SELECT kind FROM appstore.effect_log WHERE kind <> 'granted' ORDER BY recorded_at, kind")
    }

    @Test func `a status changes the ledger as a notification does, and a repetition changes nothing`() async throws {
        try await WorkerScene.with { scene in
            let purchase = try Self.notification(.subscribed, .initialBuy)
            let source = EventSource.subscriptionStatus.rawValue
            let status = try await scene.receive(SignedScene.statusAnswer(of: purchase), source: source)
            #expect(try await scene.outcome(of: status) == "applied")
            let contract: Statement =
                "SELECT status || ' ' || will_renew || ' ' || (access_until > purchase) FROM (SELECT *, current_period_start AS purchase FROM appstore.contracts) AS m"
            #expect(try await scene.database.lines(contract) == ["1 true true"])
            #expect(try await scene.labels(of: status).hasPrefix("- - Production com.example.app "))
            #expect(try await scene.count(of: "transactions", "effect_log", "orders") == [1, 1, 1])
            let again = try await scene.receive(SignedScene.statusAnswer(of: purchase), source: source)
            #expect(try await scene.outcome(of: again) == "superseded")
            let posted = try await scene.receive(notification: SignedScene.sign(purchase))
            #expect(try await scene.outcome(of: posted) == "superseded")
        }
    }

    @Test func `a transaction has its effects, and an app transaction has none`() async throws {
        try await WorkerScene.with { scene in
            let purchase = try Self.notification(.oneTimeCharge)
            let info = try await scene.receive(SignedScene.transactionAnswer(of: purchase), source: EventSource.transactionInfo.rawValue)
            #expect(try await scene.outcome(of: info) == "applied")
            #expect(try await scene.count(of: "transactions", "effect_log") == [1, 1])
            let app = try SignedScene.signer().sign([
                "receiptType": "Production", "appAppleId": 42, "bundleId": "com.example.app",
                "receiptCreationDate": .integer(SignedScene.now.millisecondsSince1970),
            ])
            let body = AnswerElement.body(
                asked: ["endpoint": "app_transaction", "environment": "Production", "bundleId": "com.example.app", "path": ["7"]],
                answer: ["signedAppTransactionInfo": .string(String(decoding: app, as: UTF8.self))]
            )
            let download = try await scene.receive(body, source: EventSource.appTransaction.rawValue)
            #expect(try await scene.outcome(of: download) == "no_effect")
            // So that appstore.forget finds its body.
            #expect(try await scene.labels(of: download) == "- - Production com.example.app - 7")
        }
    }

    @Test func `an end that an answer found first is told once, and its notification is told beside it`() async throws {
        try await WorkerScene.with { scene in
            let end = try Self.notification(.expired, .voluntary)
            for later in 0..<3 {
                let date = SignedScene.now.advanced(by: .seconds(Int64(later)))
                let source = later == 1 ? EventSource.importedStatus : .subscriptionStatus
                try await scene.receive(SignedScene.statusAnswer(of: end, status: .expired, signedDate: date), source: source.rawValue)
            }
            try await scene.work()
            #expect(try await Self.kinds(scene) == ["status_found"])
            let effect: Statement = """
                SELECT (e.subject = e.original_transaction_id || '/2/' || (extract(epoch FROM t.expires_date) * 1000)::bigint) || ' '
                    || (e.occurred_at = t.expires_date)
                FROM appstore.effect_log AS e JOIN appstore.transactions AS t USING (transaction_id, environment) WHERE e.kind = 'status_found'
                """
            #expect(try await scene.database.lines(effect) == ["true true"])
            try await scene.receive(notification: SignedScene.sign(end))
            try await scene.work()
            #expect(try await Self.kinds(scene) == ["status_found", "expired"])
        }
    }

    @Test(arguments: [
        (NotificationKind(.expired, .voluntary), Status.expired, "expired"),
        (NotificationKind(.didFailToRenew), .billingRetry, "billing_retry_started"),
        (NotificationKind(.gracePeriodExpired), .billingRetry, "grace_period_ended"),
        (NotificationKind(.didFailToRenew, .gracePeriod), .billingGracePeriod, "grace_period_started"),
        (NotificationKind(.refund), .revoked, "refunded"),
    ])
    func `what a notification has told is not told again`(kind: NotificationKind, status: Status, effect: String) async throws {
        try await WorkerScene.with { scene in
            let notification = try SignedScene.trigger(kind).notification()
            guard notification.state?.renewalInfo != nil else { return }
            try await scene.receive(notification: SignedScene.sign(notification))
            let source = EventSource.subscriptionStatus.rawValue
            let later = SignedScene.now.advanced(by: .seconds(5))
            // In one batch, and in a later one.
            try await scene.receive(SignedScene.statusAnswer(of: notification, status: status), source: source)
            try await scene.work()
            try await scene.receive(SignedScene.statusAnswer(of: notification, status: status, signedDate: later), source: source)
            try await scene.work()
            #expect(try await Self.kinds(scene) == [effect])
        }
    }

    @Test func `each status but the active one is found`() async throws {
        try await WorkerScene.with { scene in
            let purchase = try Self.notification(.subscribed, .initialBuy)
            for status: Status in [.active, .expired, .billingRetry, .billingGracePeriod, .revoked] {
                let date = SignedScene.now.advanced(by: .seconds(Int64(status.rawValue)))
                let body = try SignedScene.statusAnswer(of: purchase, status: status, signedDate: date)
                try await scene.receive(body, source: EventSource.subscriptionStatus.rawValue)
                try await scene.work()
            }
            let found: Statement = "SELECT split_part(subject, '/', 2) FROM appstore.effect_log WHERE kind = 'status_found' ORDER BY 1"
            #expect(try await scene.database.lines(found) == ["2", "3", "4", "5"])
        }
    }

    // Apple's two words contradict each other, and each order of arrival must come to the same: see the case of the collected answers.
    @Test(arguments: [[0, 1], [1, 0]], [0, 1])
    func `an active status beside a revoked transaction counts, unless the transaction is signed later`(order: [Int], later: Int64)
        async throws
    {
        try await WorkerScene.with { scene in
            let purchase = try Self.notification(.subscribed, .initialBuy)
            let (date, source) = (SignedScene.now.advanced(by: .seconds(5)), EventSource.subscriptionStatus.rawValue)
            let answers = [
                try SignedScene.statusAnswer(of: purchase, status: .active),
                try SignedScene.statusAnswer(of: purchase, status: .active, signedDate: date) { transaction in
                    transaction["revocationDate"] = .integer(SignedScene.now.millisecondsSince1970)
                    transaction["revocationReason"] = 0
                    transaction["signedDate"] = .integer(date.millisecondsSince1970 + later)
                },
            ]
            for index in order {
                try await scene.receive(answers[index], source: source)
                try await scene.work()
            }
            let books: Statement = """
                SELECT concat_ws(' ', m.status, m.revoked_at = t.revocation_date, m.access_until = t.revocation_date, m.access_until >= t.expires_date)
                FROM appstore.contracts AS m JOIN appstore.transactions AS t USING (original_transaction_id, environment)
                """
            #expect(try await scene.database.lines(books) == [later > 0 ? "1 t t f" : "1 t f t"])
            #expect(try await Self.kinds(scene) == ["refunded"])
        }
    }

    @Test(arguments: [false, true])
    func `an answer about the period before the current one ends no access, and says no status of it`(comesFirst: Bool) async throws {
        try await WorkerScene.with { scene in
            let renewal = try Self.notification(.didRenew)
            let charge = try #require(renewal.state?.transaction?.value)
            let start = charge.purchaseDate.millisecondsSince1970
            // A replica that lags does not know of the renewal, and signs later.
            let answer = try SignedScene.statusAnswer(
                of: renewal,
                status: .billingRetry,
                signedDate: SignedScene.now.advanced(by: .seconds(5)),
                transaction: { json in
                    json["transactionId"] = .string(charge.originalTransactionID)
                    json["webOrderLineItemId"] = .string("1")
                    json["purchaseDate"] = .integer(start - 2_592_000_000)
                    json["expiresDate"] = .integer(start)
                },
                renewalInfo: { $0["renewalDate"] = .integer(start) }
            )
            let source = EventSource.subscriptionStatus.rawValue
            if comesFirst {
                try await scene.receive(answer, source: source)
                try await scene.work()
            }
            try await scene.receive(notification: SignedScene.sign(renewal))
            try await scene.work()
            if !comesFirst {
                try await scene.receive(answer, source: source)
                try await scene.work()
                #expect(try await !Self.kinds(scene).contains("status_found"))
            }
            let access: Statement =
                "SELECT concat_ws(' ', coalesce(status, 0), access_until = current_period_end, access_until > now()) FROM appstore.contracts"
            #expect(try await scene.database.lines(access) == ["0 t t"])
        }
    }

    @Test func `a status that is older than the known one is no news`() async throws {
        try await WorkerScene.with { scene in
            let end = try Self.notification(.expired, .voluntary)
            try await scene.receive(notification: SignedScene.sign(end))
            try await scene.work()
            let date = SignedScene.now.advanced(by: .seconds(-10))
            let answer = try SignedScene.statusAnswer(of: end, status: .billingRetry, signedDate: date)
            let event = try await scene.receive(answer, source: EventSource.subscriptionStatus.rawValue)
            #expect(try await scene.outcome(of: event) == "superseded")
            #expect(try await Self.kinds(scene) == ["expired"])
        }
    }

    @Test func `a found status is an entry of the feed`() async throws {
        try await WorkerScene.with { scene in
            try await scene.database.withConnection { connection in
                _ = try await connection.query("SELECT appstore.enable_feed()")
            }
            let end = try Self.notification(.expired, .voluntary)
            try await scene.receive(SignedScene.statusAnswer(of: end, status: .expired), source: EventSource.subscriptionStatus.rawValue)
            try await scene.work()
            let told: Statement = """
                SELECT e.kind FROM appstore.tells AS t JOIN appstore.effect_log AS e ON e.effect_id::text = t.ref WHERE t.kind = 'effect' ORDER BY 1
                """
            #expect(try await scene.database.lines(told) == ["granted", "status_found"])
            #expect(try await scene.database.lines("SELECT ('effect.status_found' = ANY (appstore.feed_types()))::text") == ["true"])
        }
    }

    @Test func `no answer can be posted, and none ends a silence`() async throws {
        try await WorkerScene.with { scene in
            let purchase = try Self.notification(.subscribed, .initialBuy)
            for source in Self.sources {
                await #expect(throws: PostgresError.self) {
                    try await scene.database.withConnection(user: "appstore_ingest") { connection in
                        _ = try await connection.query("SELECT appstore.receive(ARRAY['{}'::bytea], \(source.rawValue))")
                    }
                }
            }
            try await scene.receive(SignedScene.statusAnswer(of: purchase), source: EventSource.subscriptionStatus.rawValue)
            try await scene.receive(SignedScene.transactionAnswer(of: purchase), source: EventSource.transactionInfo.rawValue)
            try await scene.work()
            #expect(try await scene.database.lines("SELECT (silence IS NULL)::text FROM appstore.inbox_statistics()") == ["true"])
        }
    }
}
